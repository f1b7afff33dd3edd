"""Whether anything new is let in: not while the server stops, and no answers while somebody holds them off."""

from mlxp_core.desk.workers import RETRY_AFTER
from mlxp_core.errors import Unavailable

HELD_RETRY_AFTER = (("retry-after", "10"),)


class Door:
    """The door of one desk.

    Attributes:
        stopping: nothing new is let in any more.
        held: why no answers and vectors are given for now; ``None`` = they are.
    """

    def __init__(self) -> None:
        """Open it."""
        self.stopping = False
        self.held: str | None = None

    def check(self) -> None:
        """Let something in.

        Raises:
            Unavailable: the server is stopping.
        """
        if self.stopping:
            raise Unavailable("the server is stopping", headers=RETRY_AFTER)

    def check_held(self) -> None:
        """Let in what would make the engine work.

        Raises:
            Unavailable: somebody holds it off.
        """
        if self.held is not None:
            raise Unavailable(self.held, headers=HELD_RETRY_AFTER)
