"""Whether a plugin was made for this core: its distribution's requirement on ``mlxp-core`` says so."""

from collections.abc import Iterable

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

CORE = "mlxp-core"
_UPPER = frozenset({"<", "<=", "==", "~=", "==="})
_LOWER = frozenset({">", ">=", "==", "~=", "==="})


class Fit(Struct, frozen=True):
    """The result: ``fault`` when this core is refused, ``warning`` when the plugin does not say enough."""

    fault: str | None = None
    warning: str | None = None


def fit(requires: Iterable[str], core: str) -> Fit:
    """Compare a distribution's requirements with a version of the core.

    Args:
        requires: lines such as ``mlxp-core>=0.1,<0.2``; those under an unmet marker or an extra do not count.
        core: the core's version.
    """
    asked = []
    for line in requires:
        try:
            requirement = Requirement(line)
        except InvalidRequirement as error:
            return Fit(fault=f"its metadata has a requirement that cannot be read: {line!r}: {error}")
        if canonicalize_name(requirement.name) == CORE and _counts(requirement):
            asked.append(requirement)
    for requirement in asked:
        if not requirement.specifier.contains(Version(core), prereleases=True):
            return Fit(
                fault=f"it requires {requirement.name}{requirement.specifier}, this is {core}; "
                "install a version of it made for this core"
            )
    operators = {part.operator for requirement in asked for part in requirement.specifier}
    if operators & _UPPER and operators & _LOWER:
        return Fit()
    bounds = f"{CORE}>={core},<{_next_minor(core)}"
    return Fit(warning=f"its distribution does not bound {CORE} on both sides; it should require {bounds}")


def _counts(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def _next_minor(version: str) -> str:
    parsed = Version(version)
    return f"{parsed.major}.{parsed.minor + 1}"
