"""How Qwen 3.5 writes thinking. Most of its prompts end within it; the rendered prompt tells which do."""

from mlxp_core.contracts import ThinkingFormat

FORMAT = ThinkingFormat(name="qwen35", open="<think>", close="</think>", switch="enable_thinking")
