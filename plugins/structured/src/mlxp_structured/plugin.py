"""What this plugin brings: kinds of shapes. It loads its library with the first answer that has one."""

from mlxp_core import hookimpl
from mlxp_core.contracts import ConstraintKind
from mlxp_structured.kinds import Compiler


@hookimpl
def mlxp_constraints() -> list[ConstraintKind]:
    """Return the kinds; all of them share the tables they make of a tokenizer."""
    return Compiler().kinds()
