"""Tokens to events: text, thinking, tool calls, stop strings. Public: formats are built from these pieces.

The grammar of a family's calls is built from ``parameters`` or ``call_as_json``, and ``call_grammar``.

A parser of tool calls is usually a ``CallBlock`` around readers of single calls: ``TaggedCall`` for tags, ``JsonCall``
for JSON, or one of the family's own. Such a reader turns values into fragments of JSON with ``ArgumentWriter`` (or
``value_json``), looks for its marks with ``overlap`` and ``might_begin`` so that any cut gives the same, and is a
``ToolParser`` itself. ``mlxp_core.testing.formats`` holds the laws for the result.
"""

from mlxp_core.reading.block import CallBlock
from mlxp_core.reading.calling import (
    Parameter,
    arguments_schema,
    call_as_json,
    call_grammar,
    callable_now,
    parameters,
    self_contained,
)
from mlxp_core.reading.calls import CallReader, random_call_id
from mlxp_core.reading.detokenize import Detokenizer, TokenTable
from mlxp_core.reading.elements import ElementText
from mlxp_core.reading.json_call import JsonCall
from mlxp_core.reading.reader import End, Reader
from mlxp_core.reading.scanner import MarkerScanner, might_begin, overlap
from mlxp_core.reading.schema import Types, is_text, parameter_types, types_of
from mlxp_core.reading.steering import Thought, thought_of
from mlxp_core.reading.stops import StopScanner
from mlxp_core.reading.tagged import (
    ATTRIBUTE_TAGS,
    EQUALS_TAGS,
    Tag,
    TaggedCall,
    TagStyle,
    attribute_tag,
    equals_tag,
)
from mlxp_core.reading.values import ArgumentWriter, object_json, quoted, value_json
from mlxp_core.reading.wellformed import check_schema

__all__ = [
    "ATTRIBUTE_TAGS",
    "EQUALS_TAGS",
    "ArgumentWriter",
    "CallBlock",
    "CallReader",
    "Detokenizer",
    "ElementText",
    "End",
    "JsonCall",
    "MarkerScanner",
    "Parameter",
    "Reader",
    "StopScanner",
    "Tag",
    "TagStyle",
    "TaggedCall",
    "Thought",
    "TokenTable",
    "Types",
    "arguments_schema",
    "attribute_tag",
    "call_as_json",
    "call_grammar",
    "callable_now",
    "check_schema",
    "equals_tag",
    "is_text",
    "might_begin",
    "object_json",
    "overlap",
    "parameter_types",
    "parameters",
    "quoted",
    "random_call_id",
    "self_contained",
    "thought_of",
    "types_of",
    "value_json",
]
