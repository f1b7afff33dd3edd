"""How Gemma 4 writes thinking: a channel named ``thought``; the text of any other channel is thinking, name and all."""

from mlxp_core.contracts import ThinkingFormat

FORMAT = ThinkingFormat(
    name="gemma4", open="<|channel>", close="<channel|>", header="thought\n", switch="enable_thinking"
)
