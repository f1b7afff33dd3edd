"""How MiniCPM5 writes thinking."""

from mlxp_core.contracts import ThinkingFormat

FORMAT = ThinkingFormat(name="minicpm5", open="<think>", close="</think>", switch="enable_thinking")
