"""Adapters that come and go between steps, in order with everything else.

An adapter is mounted as a step of its own. It is unmounted when the last choice that was handed in with it has ended:
whoever was promised an adapter keeps it to the end, and nobody waits for that but the memory.
"""

from collections import deque
from collections.abc import Callable

from mlxp_core.adapters import Fitted
from mlxp_core.engine.orders import Mount, Unmount
from mlxp_core.engine.steps import Adapt, Outcome, Step
from mlxp_core.errors import MlxpError

Reply = Callable[[], object]
"""Tells whoever asked; called on the event-loop thread."""


class Mounting:
    """What is to be mounted and unmounted.

    Attributes:
        numbers: key of each mount that is there -> its model, and how many numbers its matrices have.
    """

    def __init__(self) -> None:
        """Begin with nothing to do."""
        self.numbers: dict[str, tuple[str, int]] = {}
        self._coming: deque[Mount] = deque()
        self._going: list[Unmount] = []
        self._replies: list[Reply] = []

    @property
    def vital(self) -> bool:
        """Say whether an adapter is still to come without which the server does not begin."""
        return any(mount.vital for mount in self._coming)

    @property
    def telling(self) -> bool:
        """Say whether somebody waits for a reply that is known."""
        return bool(self._replies)

    def take(self, message: Mount | Unmount) -> None:
        """Note what came by mail."""
        match message:
            case Mount():
                self._coming.append(message)
            case Unmount():
                self._going.append(message)

    def next(self, held: Callable[[], set[str]]) -> Adapt | None:
        """Return what to do now, if anything.

        Args:
            held: the keys of all mounts that any choice in the house was handed in with.
        """
        if self._coming:
            return Adapt(self._coming[0])
        if not self._going:
            return None
        keys = held()
        return next((Adapt(unmount) for unmount in self._going if unmount.key not in keys), None)

    def settle(self, step: Step, outcome: Outcome | MlxpError) -> None:
        """Take in what came of a step.

        Raises:
            MlxpError: an adapter that the server was started with cannot be mounted, or one cannot be let go of.
        """
        match step, outcome:
            case Adapt(Mount() as mount), MlxpError() as fault if not mount.vital:
                self._answer(mount, fault)
            case Adapt(Mount() as mount), Outcome(fitted=Fitted() as fitted):
                self.numbers[mount.key] = (mount.model, mount.folder.numbers)
                self._answer(mount, fitted)
            case Adapt(Unmount() as unmount), Outcome():
                self.numbers.pop(unmount.key, None)
                self._going.remove(unmount)
            case Adapt(), MlxpError() as fault:
                raise fault

    def _answer(self, mount: Mount, outcome: Fitted | MlxpError) -> None:
        self._coming.remove(mount)
        self._replies.append(lambda: mount.reply(outcome))

    def turn_away(self, mount: Mount, fault: MlxpError) -> None:
        """Tell who waits for a mount that it will not be.

        Raises:
            MlxpError: the server was to be started with it.
        """
        if mount.vital:
            raise fault
        self._answer(mount, fault)

    def refuse(self, model: str, fault: MlxpError) -> None:
        """Tell those who wait for a model that could not be loaded."""
        for mount in [mount for mount in self._coming if mount.model == model and not mount.vital]:
            self._answer(mount, fault)

    def abandon(self, fault: MlxpError) -> None:
        """Tell those who wait that nothing will come of it."""
        for mount in tuple(self._coming):
            self._answer(mount, fault)
        self._going.clear()

    def replies(self) -> tuple[Reply, ...]:
        """Return what there is to tell since the last call."""
        replies, self._replies = tuple(self._replies), []
        return replies
