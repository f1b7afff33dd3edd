"""The environment as a layer of settings: ``MLXP_<SECTION>_<KEY>``, and ``MLXP_PLUGINS`` in short."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from msgspec import structs

from mlxp_core.errors import SettingsError
from mlxp_core.plugins.config_file import CONFIG_VARIABLE
from mlxp_core.plugins.layers import Given, Layer, Sections, Source
from mlxp_core.plugins.spelling import suggestion

PREFIX = "MLXP_"
PLUGINS_VARIABLE = "MLXP_PLUGINS"
_SERVICE_LINKS = ("MLXP_SERVICE_", "MLXP_PORT")
"""What Kubernetes sets for neighbours of a service called ``mlxp``; close to names of ours, and none of them."""


def from_environment(
    environ: Mapping[str, str], sections: Sections, *, absent: frozenset[str] = frozenset()
) -> Layer:
    """Return the environment's layer: ``MLXP_<SECTION>_<KEY>``, and ``MLXP_PLUGINS`` in short.

    An empty variable counts as unset. A variable of a section that does not know it is an error, and so is a near
    miss of a known one; any other ``MLXP_…`` variable is someone else's and is left alone.

    Args:
        environ: the environment.
        sections: what may be set.
        absent: plugins that are off or broken; their variables are passed over.

    Raises:
        SettingsError: an unknown variable, two settings with one variable, or a setting given twice.
    """
    known = _variables(sections)
    layer: dict[str, dict[str, Given]] = {}
    for variable, text in sorted(environ.items()):
        if not text or not variable.startswith(PREFIX) or variable in (CONFIG_VARIABLE, PLUGINS_VARIABLE):
            continue
        if variable in known:
            section, key = known[variable]
            layer.setdefault(section, {})[key] = Given(text, Source("environment", variable), text=True)
        elif not any(variable.startswith(_prefix(name)) for name in absent):
            _refuse_unknown(variable, known, sections)
    if "plugins" in sections and (short := environ.get(PLUGINS_VARIABLE)):
        chosen = layer.setdefault("plugins", {})
        for key, names in _shorthand(short).items():
            if key in chosen:
                raise SettingsError(
                    f"{PLUGINS_VARIABLE} and {chosen[key].source} both set plugins.{key}; keep one"
                )
            chosen[key] = Given(names, Source("environment", PLUGINS_VARIABLE))
    return layer


def variable_name(section: str, key: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{section}_{key}".upper().replace("-", "_")


def _prefix(section: str) -> str:
    return variable_name(section, "")


def _variables(sections: Sections) -> dict[str, tuple[str, str]]:
    known: dict[str, tuple[str, str]] = {}
    for section, kind in sections.items():
        for field in structs.fields(kind):
            variable = variable_name(section, field.encode_name)
            if variable in known:
                first = ".".join(known[variable])
                raise SettingsError(
                    f"{first} and {section}.{field.encode_name} would share the variable {variable}; rename one"
                )
            known[variable] = (section, field.encode_name)
    return known


def _refuse_unknown(variable: str, known: Iterable[str], sections: Sections) -> None:
    if variable.startswith(_SERVICE_LINKS):
        return
    ours = any(variable.startswith(_prefix(section)) for section in sections)
    if ours or get_close_matches(variable, known, n=1, cutoff=0.85):
        raise SettingsError(
            f"the environment sets {variable}, which is no setting{suggestion(variable, known)}"
            f" Unset it, or see the list of settings."
        )


def _shorthand(text: str) -> Mapping[str, list[str]]:
    """Read ``a,b`` as "only these" and ``-a`` as "not this one"; both may be mixed."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    chosen = {
        "only": [word for word in words if not word.startswith("-")],
        "disable": [word.removeprefix("-").strip() for word in words if word.startswith("-")],
    }
    return {key: names for key, names in chosen.items() if names}
