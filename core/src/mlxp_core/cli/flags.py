"""A flag for every setting of the core, made from the settings themselves: type, default, and help from their docs."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
import rich_click as click
from msgspec.inspect import BoolType, FloatType, IntType, LiteralType, NoneType, Type, UnionType, VarTupleType
from msgspec.structs import FieldInfo

from mlxp_core.types import (
    AdapterSettings,
    EngineSettings,
    GenerationSettings,
    ModelsSettings,
    PluginSettings,
    ServerSettings,
)

F = TypeVar("F", bound=Callable[..., Any])

SECTIONS: Mapping[str, type[msgspec.Struct]] = {
    "server": ServerSettings,
    "engine": EngineSettings,
    "generation": GenerationSettings,
    "models": ModelsSettings,
    "adapters": AdapterSettings,
    "plugins": PluginSettings,
}

NO_FLAG = frozenset({("generation", "model"), ("models", "serve")})
"""Settings that the command line takes in another way."""

FLAGS: Mapping[tuple[str, str], str] = {
    ("engine", "on_death"): "on-engine-death",
    ("generation", "adapters"): "default-adapter",
    ("adapters", "mount"): "adapter",
    ("adapters", "roots"): "adapter-root",
}
"""Flags that are not called like their setting, as they stand there without its section."""

ENTRY = re.compile(r"^ {4}(\w+(?:, \w+)*): (.+(?:\n {8}.+)*)", re.MULTILINE)


def setting_options(command: F) -> F:
    """Give a command one option for each setting; all arrive as keyword arguments named ``section__key``."""
    for section, kind in reversed(tuple(SECTIONS.items())):
        helps = _helps(kind)
        for field in reversed(msgspec.structs.fields(kind)):
            if (section, field.name) not in NO_FLAG:
                command = _option(section, field, helps.get(field.name, ""))(command)
    return command


def said(given: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Return what those options said, by section and key; ``None`` and ``()`` where they said nothing."""
    flags: dict[str, dict[str, object]] = {}
    for name, value in given.items():
        section, _, key = name.partition("__")
        flags.setdefault(section, {})[key] = value
    return flags


def _option(section: str, field: FieldInfo, text: str) -> Callable[[F], F]:
    name = FLAGS.get((section, field.name), field.name.replace("_", "-"))
    flag = f"--{name}"
    told: dict[str, Any] = {"default": None, "help": _help(text, field)}
    match _bare(msgspec.inspect.type_info(field.type)):
        case BoolType():
            flag = f"{flag}/--no-{name}"
        case IntType():
            told["type"] = int
        case FloatType():
            told["type"] = float
        case LiteralType(values=values):
            told["type"] = click.Choice([str(value) for value in values])
        case VarTupleType():
            told |= {"default": (), "multiple": True}
    return click.option(flag, f"{section}__{field.name}", **told)


def _bare(shape: Type) -> Type:
    """Return a type without its ``None``."""
    match shape:
        case UnionType(types=types):
            return next(each for each in types if not isinstance(each, NoneType))
        case _:
            return shape


def _helps(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Return attribute -> its text in the docstring."""
    entries = ENTRY.findall(inspect.getdoc(kind) or "")
    return {name: re.sub(r"\s+", " ", text) for names, text in entries for name in names.split(", ")}


def _help(text: str, field: FieldInfo) -> str:
    text = (text or field.name.replace("_", " ")).replace("``", "")
    text = text[0].upper() + text[1:].rstrip(".")
    if field.default in (None, (), False):
        return f"{text}."
    return f"{text} [default: {field.default}]."
