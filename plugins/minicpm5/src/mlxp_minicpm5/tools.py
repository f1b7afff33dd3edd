"""How MiniCPM5 writes tool calls: one ``<function>`` element each, or JSON within ``<tool_call>``."""

from mlxp_core.contracts import ToolFormat, ToolParser
from mlxp_core.reading import ATTRIBUTE_TAGS, EQUALS_TAGS, CallBlock, JsonCall, TaggedCall
from mlxp_core.types import ToolSpec
from mlxp_minicpm5.calling import grammar

_WRAPPER_END = "</tool_call>"


def parser(tools: tuple[ToolSpec, ...]) -> ToolParser:
    """Return a parser for one block: a call by itself, or calls of any form within ``<tool_call>``."""
    return CallBlock(
        wrappers={"<tool_call>": _WRAPPER_END},
        calls={
            "<function": lambda: TaggedCall((ATTRIBUTE_TAGS, EQUALS_TAGS), tools, (_WRAPPER_END,)),
            "{": lambda: JsonCall(tools, (_WRAPPER_END,)),
        },
    )


FORMAT = ToolFormat(
    name="minicpm5",
    openers=("<function", "<tool_call>"),
    keeps=("</function>", "<param", "</param>", _WRAPPER_END),
    parser=parser,
    grammar=grammar,
)
