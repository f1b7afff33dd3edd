"""The models of one server: what each is called, and which of them stay loaded."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from mlxp_core.desk.opening import Opened
from mlxp_core.errors import SetupError
from mlxp_core.types import ModelsSettings


class Lineup(Struct, frozen=True, kw_only=True, eq=False):
    """Everything that is served.

    Attributes:
        models: by id, the default one first.
        aliases: further name -> id.
        pinned: ids of those that stay loaded.
        unload_after_s: how long the others may be idle; ``None`` = for ever.
    """

    models: Mapping[str, Opened]
    aliases: Mapping[str, str]
    pinned: frozenset[str]
    unload_after_s: float | None


def line_up(opened: Sequence[tuple[str, Opened]], settings: ModelsSettings) -> Lineup:
    """Return the models under their names.

    Args:
        opened: each with the reference that it was found by; the first is the default model.
        settings: further names, and what stays.

    Raises:
        SetupError: two models are called alike, or a setting names none of them.
    """
    models: dict[str, Opened] = {}
    names: dict[str, str] = {}  # reference or id -> id
    for ref, each in opened:
        model = each.frontend.info.id
        if model in models:
            where = f"{models[model].plan.folder.path} and {each.plan.folder.path}"
            raise SetupError(
                f"two models are called {model!r}: {where}; rename one folder, or serve one of them"
            )
        models[model] = each
        names[ref] = model
    names |= {model: model for model in models}
    aliases = _aliases(settings.alias, names)
    if settings.unload_after_s is not None and settings.unload_after_s <= 0:
        raise SetupError(f"models.unload_after_s: must be more than 0 seconds, not {settings.unload_after_s}")
    return Lineup(
        models=models,
        aliases=aliases,
        pinned=frozenset(_meant(name, {**aliases, **names}, "models.pin") for name in settings.pin),
        unload_after_s=settings.unload_after_s,
    )


def _aliases(entries: Sequence[str], names: Mapping[str, str]) -> dict[str, str]:
    aliases: dict[str, str] = {}
    for entry in entries:
        alias, equals, model = entry.partition("=")
        if not (alias and equals and model):
            raise SetupError(f"models.alias: {entry!r} must be NAME=MODEL")
        if alias in aliases or alias in names.values():
            raise SetupError(f"models.alias: {alias!r} is a name already; choose another one")
        aliases[alias] = _meant(model, names, "models.alias")
    return aliases


def _meant(name: str, names: Mapping[str, str], setting: str) -> str:
    if name not in names:
        raise SetupError(f"{setting}: {name!r} is not served; served: {', '.join(names)}")
    return names[name]
