"""Whether there is memory for a row, as the scheduler asks it: about sequences, not about bytes."""

from collections.abc import Collection, Mapping
from collections.abc import Sequence as SequenceOf

from msgspec import Struct, field

from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import Mount
from mlxp_core.engine.sequence import Sequence
from mlxp_core.errors import MlxpError, OverBudget
from mlxp_core.memory import Admission, told


class Claim(Struct, frozen=True):
    """What a row may come to.

    Attributes:
        tokens: of prompt and answer.
        prefix: of its prompt, if that is kept for siblings to fork from.
        image: of the largest image in it.
    """

    tokens: int
    prefix: int
    image: int


class Present(Struct, frozen=True):
    """What is in the memory beside rows: models, those that stay, and numbers of each adapter, by model."""

    loaded: Collection[str] = frozenset()
    staying: Collection[str] = frozenset()
    adapters: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


class Room:
    """Remembers what it was asked about the rows of the moment, as the whole line asks again at every step."""

    def __init__(self, admission: Admission | None) -> None:
        """Ask ``admission``; without one, there is always room."""
        self._admission = admission
        self._present = Present()
        self._holders: tuple[int, ...] = ()
        self._known: dict[Claim, bool] = {}

    def note(self, present: Present) -> None:
        """Note what is in the memory now, rows aside."""
        if self._admission is not None and present != self._present:
            self._present = present
            self._admission = self._admission.beside(present.loaded, present.staying, present.adapters)
            self._holders, self._known = (), {}

    def together(self, models: Collection[str]) -> bool:
        """Say whether models may be loaded at the same time."""
        return self._admission is None or self._admission.together(models)

    def left_by(self, model: str) -> int | None:
        """Return the bytes that the models leave once one more of them is loaded; ``None`` = nobody counts."""
        if self._admission is None:
            return None
        loaded = {*self._present.loaded, model}
        return max(0, self._admission.beside(loaded, self._present.staying).spare(model, ()))

    def left_with(self, mount: Mount, holders: Collection[Sequence] = ()) -> int | None:
        """Return the bytes that are left beside rows once an adapter is mounted; ``None`` = nobody counts."""
        if self._admission is None:
            return None
        return Room(self._with(mount))._spare(holders)  # noqa: SLF001  # another one of ours

    def refuses(self, mount: Mount) -> MlxpError | None:
        """Return why an adapter cannot be mounted even when nobody has a row; ``None`` = it can."""
        if self._admission is None or self._with(mount).longest(mount.model):
            return None
        return OverBudget(
            f"adapter {mount.key.partition('@')[0]!r} does not fit beside {mount.model}: its matrices have "
            f"{mount.folder.numbers} numbers, and would leave no room for a single answer within the memory budget "
            f"of {told(self._admission.total)}; unmount others first"
        )

    def _with(self, mount: Mount) -> Admission:
        assert self._admission is not None  # noqa: S101  # asked before
        now, model = self._present, mount.model
        adapters = {**now.adapters, model: (*now.adapters.get(model, ()), mount.folder.numbers)}
        return self._admission.beside({*now.loaded, model}, now.staying, adapters)

    def cramped(self, one: Sequence) -> bool:
        """Say whether a sequence lacks the room, though nobody has a row, that other models' weights take."""
        return self._admission is not None and self._spare([one]) < 0

    def refusal(self, sequence: Sequence) -> MlxpError | None:
        """Return why a sequence can never have a row; ``None`` = it can."""
        if self._admission is None:
            return None
        order = sequence.order
        choices = 1 if order.pool is not None else order.request.choices
        return contained(
            self._admission.check,
            order.model,
            len(sequence.prompt),
            sequence.max_tokens,
            choices=choices,
            image=order.prompt.largest_image,
        )

    def fits(self, holders: SequenceOf[Sequence], one: Sequence) -> bool:
        """Say whether one more may have a row beside those that have."""
        if self._admission is None or not holders:  # alone it fits: see ``refusal``
            return True
        keys = tuple(holder.key for holder in holders)
        if keys != self._holders:
            self._holders, self._known = keys, {}
        claim = _claim(one)
        if claim not in self._known:
            self._known[claim] = self._spare([*holders, one]) >= 0
        return self._known[claim]

    def spare(self, holders: Collection[Sequence]) -> int | None:
        """Return the bytes that rows leave for what can be given back; ``None`` = nobody counts."""
        return None if self._admission is None else max(0, self._spare(holders))

    def reserved(self, holders: Collection[Sequence]) -> int:
        """Return the most bytes that weights and these rows may come to; 0 = nobody counts."""
        return 0 if self._admission is None else self._admission.total - self._spare(holders)

    @property
    def total(self) -> int:
        """Return the budget; 0 = nobody counts."""
        return 0 if self._admission is None else self._admission.total

    def _spare(self, holders: Collection[Sequence]) -> int:
        assert self._admission is not None  # noqa: S101  # asked before
        if not holders:
            return self._admission.total - self._admission.held
        model = next(iter(holders)).order.model
        claims = {holder: _claim(holder) for holder in holders}
        prefixes = {holder.request_id: claim.prefix for holder, claim in claims.items() if claim.prefix}
        rows = [claim.tokens for claim in claims.values()]
        image = max(claim.image for claim in claims.values())
        return self._admission.spare(model, rows, tuple(prefixes.values()), image)


def _claim(sequence: Sequence) -> Claim:
    several = sequence.order.pool is None and sequence.order.request.choices > 1
    prompt = len(sequence.prompt)
    image = sequence.order.prompt.largest_image
    return Claim(prompt + sequence.max_tokens, prompt if several else 0, image)
