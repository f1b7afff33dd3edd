"""What modules are called: a text network alone, or as a part of a whole model, in MLX's way or in that of PEFT."""

from __future__ import annotations

from typing import Literal

Form = Literal["mlx", "peft"]

_WHOLE = {"mlx": "language_model.model.", "peft": "model.language_model."}
_ALONE = "model."


def bare(name: str) -> str:
    """Return the name of a module as if its network stood alone."""
    for whole in _WHOLE.values():
        if name.startswith(whole):
            return _ALONE + name.removeprefix(whole)
    return name.removeprefix("language_model.")


def spelled(name: str, form: Form, *, wrapped: bool) -> str:
    """Return what a form calls a module; ``wrapped``: its network is a part of a whole model."""
    return _WHOLE[form] + name.removeprefix(_ALONE) if wrapped and name.startswith(_ALONE) else name
