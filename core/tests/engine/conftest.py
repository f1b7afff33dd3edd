"""Orders with real readers over a table of numbers, and a runner on paper."""

import threading
from collections import Counter
from types import SimpleNamespace

import pytest

from mlxp_core.engine import Order
from mlxp_core.engine.faults import contained
from mlxp_core.engine.steps import Decode, Draw, Fork, Load, Outcome, Prefill, Read, Rest, Unload
from mlxp_core.errors import MlxpError
from mlxp_core.prompting import Prompt
from mlxp_core.reading import Reader
from mlxp_core.types import GenerateRequest, Sampling

END = 0


class Numbers:
    """A tokenizer whose tokens are numbers with a space behind; ``END`` is its only special token."""

    def __init__(self):
        self.added_tokens = self.special_tokens = {END: "<end>"}

    def token_id(self, text):
        return END if text == "<end>" else None

    def token_bytes(self, token):
        return b"" if token == END else f"{token} ".encode()

    def decode(self, tokens, *, special=True):
        return b"".join(self.token_bytes(token) for token in tokens).decode()


class Clock:
    """Seconds that grow by one whenever somebody looks."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def engine_threads():
    return {thread for thread in threading.enumerate() if thread.name == "mlxp-engine"}


@pytest.fixture
def no_thread_left():
    """Assert that every engine that was begun has ended."""
    others = engine_threads()
    yield
    assert engine_threads() <= others


def make_orders(request_id="r", *, prompt=(1, 2, 3), choices=1, constraints=(), sink=None, **asked):
    """Return the orders of one request and what their sinks will have heard."""
    heard = []
    known = {"model": asked.pop("model", "m"), "max_tokens": asked.pop("max_tokens", 8)}
    sampling = asked.pop("sampling", Sampling(temperature=0.0, seed=5))
    request = GenerateRequest(
        id=request_id, prompt=tuple(prompt), sampling=sampling, choices=choices, **known, **asked
    )
    orders = tuple(
        Order(
            request=request,
            prompt=Prompt(tokens=tuple(prompt)),
            reader=Reader(request, table=Numbers(), end_tokens=frozenset({END}), choice=choice),
            model=request.model,
            sink=sink or heard.extend,
            choice=choice,
            protocol="test",
            constraint=constraints[choice] if constraints else None,
        )
        for choice in range(choices)
    )
    return SimpleNamespace(request=request, orders=orders, heard=heard)


class PaperRunner:
    """Keeps the runner's contract on paper, one step ahead, and watches that the scheduler keeps its own.

    A row's answer is ``answer(sequence)``: the tokens it would draw, without end.
    """

    def __init__(self, answer, *, batch=100, models=()):
        self.answer = answer
        self.batch_limit = batch
        self.loaded = []
        self.models = models
        self.read = {}  # sequence key -> prompt tokens read
        self.ready, self.seated, self.prefixes = {}, {}, {}
        self.drawn = Counter()
        self.unread = []
        self.log = []
        self.failures = []  # of this step
        self.faults = []  # raised by the steps to come, None for none
        self.closed = False

    def run(self, step):
        self.sweep()
        fault = self.faults.pop(0) if self.faults and not isinstance(step, Rest | Load | Unload) else None
        self.log.append(step)
        if fault is not None:
            self.drop(step)
            raise fault
        draws = self.carry_out(step)
        assert len(self.held) <= self.batch_limit
        failures, self.failures = tuple(self.failures), []
        return Outcome(draws=tuple(draws), failures=failures, cache_bytes=len(self.held) + len(self.prefixes))

    @property
    def held(self):
        return {**self.read, **self.ready, **self.seated}

    @property
    def held_sequences(self):
        return [sequence for key, sequence in self.sequences.items() if key in self.held]

    def carry_out(self, step):  # noqa: C901  # one case a step
        match step:
            case Load(model):
                self.loaded.append(model)
            case Unload(model):
                assert model not in {sequence.order.model for sequence in self.held_sequences}
                self.loaded.remove(model)
            case Prefill(sequence, start, count, last, siblings):
                assert self.read.get(sequence.key, 0) == start
                self.read[sequence.key] = start + count
                assert last == (start + count == len(sequence.prompt))
                if last:
                    del self.read[sequence.key]
                    if siblings:
                        self.prefixes[sequence.request_id] = siblings
                    self.first_draw(sequence, step.masks)
            case Fork(rows, masks):
                for sequence in rows:
                    assert sequence in self.prefixes[sequence.request_id]
                    self.first_draw(sequence, masks)
            case Decode(rows, wait, masks):
                ahead, self.unread = self.unread, []
                self.conform(rows)
                assert rows
                assert not (wait and ahead), "drawn ahead of a mask"
                self.unread.append([])
                for sequence in rows:
                    self.attempt(sequence, masks)
                return self.take(ahead) + (self.read_all() if wait else [])
            case Read():
                return self.read_all()
        return []

    def attempt(self, sequence, masks):
        """Draw; a row that fails alone is no fault of the step."""
        match contained(self.draw, sequence, masks):
            case MlxpError() as fault:
                self.failures.append((sequence, fault))
            case drawn:
                self.unread[-1].append(drawn)

    def first_draw(self, sequence, masks):
        drawn = self.draw(sequence, masks)
        self.ready[sequence.key] = sequence
        self.unread.append([drawn])

    def draw(self, sequence, masks):
        assert not sequence.ended
        assert (sequence.key in masks) == sequence.constrained
        if sequence.key in masks:
            masks[sequence.key]()
        token = self.answer(sequence)[self.drawn[sequence.key]]
        self.drawn[sequence.key] += 1
        assert self.drawn[sequence.key] <= sequence.max_tokens, "drawn in vain"
        return sequence, (token,)

    def conform(self, rows):
        assert len({sequence.order.model for sequence in rows}) == 1
        assert all(s.ended for s in self.seated.values() if s not in rows and s.wants_more)
        self.seated = {sequence.key: self.held[sequence.key] for sequence in rows}
        self.ready = {key: sequence for key, sequence in self.ready.items() if key not in self.seated}

    def read_all(self):
        ahead, self.unread = self.unread, []
        return self.take(ahead)

    def take(self, ahead):
        return [Draw(sequence, tokens) for draws in ahead for sequence, tokens in draws]

    def sweep(self):
        alive = {key for key, s in self.sequences.items() if not s.ended}
        self.read = {key: n for key, n in self.read.items() if key in alive}
        self.ready = {key: s for key, s in self.ready.items() if key in alive}
        self.prefixes = {
            key: rows for key, rows in self.prefixes.items() if any(not s.ended and not s.read for s in rows)
        }
        if all(sequence.ended for sequence in self.seated.values()):
            self.seated = {}

    @property
    def sequences(self):
        rows = [row for step in self.log for row in getattr(step, "rows", ())]
        rows += [step.sequence for step in self.log if isinstance(step, Prefill)]
        return {sequence.key: sequence for sequence in rows}

    def drop(self, step):
        match step:
            case Prefill(sequence):
                self.read.pop(sequence.key, None)
            case Decode() | Read():
                self.ready, self.seated, self.unread = {}, {}, []

    def close(self):
        self.closed = True


def count_up(sequence):
    """Return an answer of ``max_tokens`` numbers that tell whose they are."""
    return [1000 * (sequence.key + 1) + step for step in range(sequence.max_tokens)]


@pytest.fixture(scope="session")
def orders():
    return make_orders


@pytest.fixture(scope="session")
def paper():
    return PaperRunner


@pytest.fixture(scope="session")
def counting():
    return count_up


@pytest.fixture(scope="session")
def clocks():
    return Clock
