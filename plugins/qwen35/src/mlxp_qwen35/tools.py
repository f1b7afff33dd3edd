"""How Qwen 3.5 writes tool calls: ``<function=NAME>`` elements or JSON within ``<tool_call>``, or elements alone."""

from mlxp_core.contracts import ToolFormat, ToolParser
from mlxp_core.reading import EQUALS_TAGS, CallBlock, JsonCall, TaggedCall
from mlxp_core.types import ToolSpec
from mlxp_qwen35.calling import BEGIN, END, grammar


def parser(tools: tuple[ToolSpec, ...]) -> ToolParser:
    """Return a parser for one block: a call by itself, or calls of either form within ``<tool_call>``."""
    return CallBlock(
        wrappers={BEGIN: END},
        calls={
            "<function": lambda: TaggedCall((EQUALS_TAGS,), tools, (END,)),
            "{": lambda: JsonCall(tools, (END,)),
        },
    )


FORMAT = ToolFormat(
    name="qwen35", openers=(BEGIN, "<function="), keeps=(END,), parser=parser, grammar=grammar
)
