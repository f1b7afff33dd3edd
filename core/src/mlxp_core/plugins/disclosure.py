"""Settings as they may be shown: where each came from, and no secrets.

A secret is what came through ``{env = ..}`` or ``{file = ..}``, and what is called a key, token, password or secret.
User and password are taken out of addresses.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from mlxp_core.contracts import SettingInForce
from mlxp_core.plugins.layers import Source

_SECRET = frozenset({"key", "keys", "token", "password", "passwords", "secret", "secrets", "credentials"})
_NOTHING = Raw(b"null")
_USER = re.compile(rb"(?<=://)[^/@\s\"]*@")


def in_force(sections: Mapping[str, Struct], sources: Mapping[str, Source]) -> tuple[SettingInForce, ...]:
    """Return every setting of these sections.

    Args:
        sections: section name -> its value.
        sources: ``"section.key"`` -> where the value was found.
    """
    return tuple(
        _shown(f"{section}.{field.encode_name}", getattr(values, field.name), sources)
        for section, values in sections.items()
        for field in msgspec.structs.fields(values)
    )


def _shown(name: str, value: object, sources: Mapping[str, Source]) -> SettingInForce:
    source = sources[name]
    hidden = source.secret or not _SECRET.isdisjoint(name.rpartition(".")[2].split("_"))
    there = value not in (None, (), "")
    return SettingInForce(
        name=name,
        value=_NOTHING if hidden else _json(value),
        secret=hidden and there,
        layer=source.layer,
        source=source.name,
    )


def _json(value: object) -> Raw:
    return Raw(_USER.sub(b"", msgspec.json.encode(value, enc_hook=_text)))


def _text(value: object) -> str:
    """Return what JSON has no word for: paths."""
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a setting cannot be a {type(value).__name__}")
