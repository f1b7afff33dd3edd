"""From texts to vectors: each input is an order of its own, and only a few of a request are in the house at once."""

import asyncio
import math
from collections import deque
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.desk.faces import EngineFace, FrontendFace
from mlxp_core.desk.progress import after, progress
from mlxp_core.engine import Order, Pool
from mlxp_core.errors import BadRequest, Busy, ContextOverflow, MlxpError, Unavailable, of_code
from mlxp_core.types import (
    ChoiceProgress,
    Embedded,
    EmbedRequest,
    Event,
    Failed,
    Finished,
    GenerateRequest,
    ModelInfo,
    Sampling,
)

MOST_INPUTS = 2048
"""In one request; what OpenAI's API documents."""

Vector = tuple[float, ...]


class Lot(Struct, frozen=True):
    """The inputs of one request, ready to be read.

    Attributes:
        orders: one for each different input; their pools and sinks are still to be set.
        places: for each input of the request, which of ``orders`` is its.
    """

    orders: tuple[Order, ...]
    places: tuple[int, ...]


def check(question: EmbedRequest, model: ModelInfo) -> None:
    """Refuse what cannot be embedded, before any work.

    Raises:
        BadRequest: names the field and what to do instead.
    """
    if not model.capabilities.embeddings:
        raise BadRequest(
            f"{model.id} makes no embeddings: its hidden states do not stand for a text; choose another model",
            param="model",
        )
    if not 1 <= len(question.inputs) <= MOST_INPUTS:
        raise BadRequest(
            f"a request may hold 1 to {MOST_INPUTS} texts, not {len(question.inputs)}", param="inputs"
        )
    if question.dimensions is not None and question.dimensions < 1:
        raise BadRequest(
            f"dimensions must be at least 1, not {question.dimensions}; leave it out for all of them",
            param="dimensions",
        )


def prepare(question: EmbedRequest, frontend: FrontendFace, *, protocol: str) -> Lot:
    """Tokenize the inputs; equal ones are read once. Runs on a worker thread.

    Raises:
        BadRequest: an input is empty or holds unknown ids.
        ContextOverflow: an input is longer than the model reads.
    """
    orders: dict[tuple[int, ...], Order] = {}
    places: list[int] = []
    order_of: dict[tuple[int, ...], int] = {}
    for place in range(len(question.inputs)):
        order = _order(question, place, frontend, len(orders), protocol)
        tokens = order.prompt.tokens
        orders.setdefault(tokens, order)
        places.append(order_of.setdefault(tokens, len(order_of)))
    return Lot(tuple(orders.values()), tuple(places))


def _order(question: EmbedRequest, place: int, frontend: FrontendFace, choice: int, protocol: str) -> Order:
    name = f"inputs[{place}]" if len(question.inputs) > 1 else "inputs"
    model = frontend.info
    request = GenerateRequest(
        id=question.id,
        model=model.id,
        prompt=question.inputs[place],
        max_tokens=1,
        sampling=Sampling(seed=0),
    )
    try:
        prompt = frontend.prepare(request)
    except BadRequest as error:
        raise BadRequest(error.message, param=name) from error
    if len(prompt.tokens) > model.context:
        raise ContextOverflow(
            f"the text has {len(prompt.tokens)} tokens, and {model.id} reads at most {model.context}; "
            "cut it into parts",
            param=name,
        )
    return Order(
        request=request,
        prompt=prompt,
        reader=frontend.reader(request, prompt, choice),
        model=model.id,
        sink=_nobody,
        choice=choice,
        protocol=protocol,
    )


class Embedding:
    """One request while its inputs are read. Belongs to the event-loop thread.

    At most ``abreast`` of its inputs are in the house; the next one is handed in when one has ended. So a request with
    thousands of inputs takes no more of the queue than others do.
    """

    def __init__(self, lot: Lot, engine: EngineFace, frontend: FrontendFace, *, abreast: int) -> None:
        """Make ready; nothing is handed in yet."""
        self._lot = lot
        self._engine = engine
        self._frontend = frontend
        self._abreast = abreast
        self._to_do = deque(range(len(lot.orders)))
        self._inside = 0
        self._states = list(progress((), len(lot.orders)))
        self._vectors: dict[int, Vector] = {}  # filled by the engine thread, each before its last event
        self._read: dict[int, int] = {}  # tokens, by order
        self._fault: MlxpError | None = None
        self._bell = asyncio.Event()

    async def answer(self, dimensions: int | None) -> Embedded:
        """Read all inputs; leaving early cancels what is under way.

        Raises:
            BadRequest: there are not so many dimensions.
            Busy: there was no place, and nothing of this request was under way to make one.
            MlxpError: an input could not be read, or the request was cancelled.
        """
        try:
            while self._to_do or self._inside:
                self._hand_in()
                self._bell.clear()
                await self._bell.wait()
                if self._fault is not None:
                    raise self._fault
        finally:
            if self._inside:
                self.cancel()
        vectors = [shorten(self._vectors[place], dimensions) for place in range(len(self._lot.orders))]
        return Embedded(
            model=self._frontend.info.id,
            vectors=tuple(vectors[place] for place in self._lot.places),
            tokens=sum(self._read[place] for place in self._lot.places),
        )

    def progress(self) -> tuple[ChoiceProgress, ...]:
        """Return how far each of its inputs is; equal ones are one."""
        return tuple(self._states)

    def cancel(self) -> None:
        """Stop as soon as possible."""
        if not self._engine.cancel(self._lot.orders[0].request.id):
            self._end(Unavailable("the request was cancelled before all its inputs were read"))

    def _hand_in(self) -> None:
        while self._to_do and self._inside < self._abreast:
            place = self._to_do[0]
            try:
                self._engine.submit([self._ordered(place)])
            except Busy:
                if not self._inside:
                    raise
                return  # one of ours will end and make room
            self._to_do.popleft()
            self._inside += 1

    def _ordered(self, place: int) -> Order:
        pooling = self._frontend.pooling
        assert pooling is not None  # noqa: S101  # ``check`` was asked first

        def keep(vector: Vector) -> None:
            self._vectors[place] = vector

        return replace(self._lot.orders[place], sink=self._hear(place), pool=Pool(pooling, keep))

    def _hear(self, place: int) -> Callable[[list[Event]], None]:
        def hear(events: list[Event]) -> None:
            for event in events:
                self._states[place] = after(self._states[place], event)
                match event:
                    case Finished(reason="cancelled"):
                        self._inside -= 1
                        self._end(Unavailable("the request was cancelled before all its inputs were read"))
                    case Finished(usage=usage):
                        self._inside -= 1
                        self._read[place] = usage.prompt
                        self._bell.set()
                    case Failed(code, message):
                        self._inside -= 1
                        self._end(of_code(code)(message))

        return hear

    def _end(self, fault: MlxpError) -> None:
        self._fault = self._fault or fault
        self._bell.set()


def shorten(vector: Vector, dimensions: int | None) -> Vector:
    """Return the first ``dimensions`` numbers of a vector, brought to length 1 again.

    Raises:
        BadRequest: it has fewer.
    """
    if dimensions is None or dimensions == len(vector):
        return vector
    if dimensions > len(vector):
        raise BadRequest(
            f"dimensions: the model's vectors have {len(vector)}, so {dimensions} cannot be had; ask for fewer",
            param="dimensions",
        )
    first = vector[:dimensions]
    length = math.hypot(*first)
    return tuple(number / length for number in first) if length else first


def _nobody(_: list[Event]) -> None:
    """Hear events of an order that is not handed in yet."""
