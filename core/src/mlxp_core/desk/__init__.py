"""Where a request becomes a ticket."""

from mlxp_core.desk.adapter_names import own_root
from mlxp_core.desk.desk import Desk
from mlxp_core.desk.faces import EngineFace, FrontendFace, ObserversFace, RegistryFace
from mlxp_core.desk.journal import keeper
from mlxp_core.desk.ticket import Listener, Ticket

__all__ = [
    "Desk",
    "EngineFace",
    "FrontendFace",
    "Listener",
    "ObserversFace",
    "RegistryFace",
    "Ticket",
    "keeper",
    "own_root",
]
