"""Where settings come from: a file, the environment, flags. Each layer is raw values and where they were found."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct


class Source(Struct, frozen=True):
    """Where a value was found.

    Attributes:
        layer: which layer won; ``default`` = nobody set it.
        name: the file, the variable or the flag; empty for a default.
        secret: the value came through ``{env = …}`` or ``{file = …}``: never show it.
    """

    layer: Literal["default", "file", "environment", "flag"]
    name: str = ""
    secret: bool = False

    def __str__(self) -> str:
        """Return it as messages name it."""
        return self.name or self.layer


class Given(Struct, frozen=True):
    """A value as found; ``text`` when it is still to be read as its setting's type."""

    value: object
    source: Source
    text: bool = False


Layer = Mapping[str, Mapping[str, Given]]
"""Section -> key -> value."""

Sections = Mapping[str, type[Struct]]
"""Section -> what it is decoded into."""


def from_flags(flags: Mapping[str, Mapping[str, object]]) -> Layer:
    """Return the command line's layer; ``None`` and empty lists mean a flag was not given."""
    return {
        section: {
            key: Given(value, Source("flag", f"--{key.replace('_', '-')}"), text=isinstance(value, str))
            for key, value in table.items()
            if value is not None and value != ()
        }
        for section, table in flags.items()
    }


def merged(layers: Iterable[Layer]) -> dict[str, dict[str, Given]]:
    """Put later layers over earlier ones; ``plugins.disable`` adds up, so that a flag never turns one on again."""
    result: dict[str, dict[str, Given]] = {}
    for section, key, given in _each(layers):
        table = result.setdefault(section, {})
        if (section, key) == ("plugins", "disable") and key in table:
            table[key] = _added(table[key], given)
        else:
            table[key] = given
    return result


def _each(layers: Iterable[Layer]) -> Iterator[tuple[str, str, Given]]:
    for layer in layers:
        for section, table in layer.items():
            for key, given in table.items():
                yield section, key, given


def _added(below: Given, above: Given) -> Given:
    source = Source(above.source.layer, f"{below.source} + {above.source}")
    return Given([*_names(below), *_names(above)], source)


def _names(given: Given) -> list[object]:
    match given.value:
        case str(text):
            return [word.strip() for word in text.split(",") if word.strip()]
        case list() | tuple() as names:
            return list(names)
        case other:
            return [other]  # of the wrong type; decoding says so, and where it came from
