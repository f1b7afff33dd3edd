"""What this plugin brings: the reference ``demo``, and a model to serve where there is no other."""

from pathlib import Path

from mlxp_core import hookimpl
from mlxp_core.contracts import Appraise
from mlxp_core.types import ModelChoice

FOLDER = Path(__file__).parent / "mlxp-demo"
"""The model's folder; its name is the model's."""

_WHY = (
    "a very small model for demonstrations; a real one is fetched with `mlxp get NAME` or served by its folder, "
    "`mlxp serve FOLDER`"
)


@hookimpl
def mlxp_resolve_model(ref: str) -> Path | None:
    """Return the folder of the model."""
    return FOLDER if ref == "demo" else None


@hookimpl(trylast=True)
def mlxp_default_model(appraise: Appraise) -> ModelChoice | None:
    """Return the model after everybody who knows a better one; nothing where no family can serve it."""
    return None if appraise(FOLDER).family is None else ModelChoice(path=FOLDER, why=_WHY)
