"""Where a request becomes a ticket."""

from mlxp_core.desk.adapter_names import own_root
from mlxp_core.desk.desk import Desk
from mlxp_core.desk.faces import EngineFace, FrontendFace, ObserversFace, RegistryFace
from mlxp_core.desk.journal import keeper
from mlxp_core.desk.lineup import Lineup, line_up
from mlxp_core.desk.opening import Opened, open_model
from mlxp_core.desk.ticket import Listener, Ticket

__all__ = [
    "Desk",
    "EngineFace",
    "FrontendFace",
    "Lineup",
    "Listener",
    "ObserversFace",
    "Opened",
    "RegistryFace",
    "Ticket",
    "keeper",
    "line_up",
    "open_model",
    "own_root",
]
