"""Datasets that are made, from texts by rule or by a served model; and what whoever brings a template needs."""

from mlxp_lab.generating.asking import Ask, Dropped, Reply, said, shaped, words
from mlxp_lab.generating.template import Field, Inputs, Row, Task, Template, bad

__all__ = [
    "Ask",
    "Dropped",
    "Field",
    "Inputs",
    "Reply",
    "Row",
    "Task",
    "Template",
    "bad",
    "said",
    "shaped",
    "words",
]
