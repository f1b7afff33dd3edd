"""Adapters count as memory: what they take is reserved, is waited for, and is refused where it can never be."""

import mlx.core as mx
import pytest
from msgspec import Struct

from mlxp_core.adapters import Fitted, open_adapter
from mlxp_core.engine import Mount, Order, Unmount
from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import Submit
from mlxp_core.engine.runner import BatchRunner
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.shelf import Shelf
from mlxp_core.engine.steps import Adapt
from mlxp_core.errors import OverBudget
from mlxp_core.kv import policy_for
from mlxp_core.loading.network import Network
from mlxp_core.memory import Account, Admission, Footprint
from mlxp_core.memory.footprint import Slots
from mlxp_core.testing.client import SketchFrontend
from mlxp_core.types import EngineSettings, Finished, GenerateRequest, KVScheme, Sampling

FRONTEND = SketchFrontend()
KV_BYTES = 2 * 2 * 2 * 32 * 4  # of a token: two layers, keys and values, two heads of 32, float32
FOOTPRINT = Footprint(
    weights=4 * 10**6, slots=(Slots(KV_BYTES, None),), largest=KV_BYTES // 2, passing=8192, vocabulary=384
)
ROW = 40


class Plan(Struct):
    family: object
    progress: object = None


class House:
    """Scheduler and device runner within a budget, turned by hand."""

    def __init__(self, network, family, total):
        policy, kv = policy_for(network, KVScheme(), mx.float32)
        held = Network(model=network, policy=policy, kv=kv, vocabulary=384, weight_bytes=0)
        shelf = Shelf({"m": Plan(family)}, halted=lambda: False, load=lambda *_: held)
        self.admission = Admission({"m": Account(FOOTPRINT, 512)}, total, chunk=64)
        clock = iter(range(10**6)).__next__
        self.runner = BatchRunner(shelf, {}, clock)
        settings = EngineSettings(prompt_cache_bytes=0, prefill_chunk=64)
        self.scheduler = Scheduler(["m"], settings, clock, self.admission)
        self.steps, self.replies, self.heard = [], [], {}
        self.turn()

    def turn(self, *messages):
        self.scheduler.apply(messages)
        step = self.scheduler.next_step()
        deliveries = self.scheduler.settle(step, contained(self.runner.run, step))
        for sink, events in deliveries.events:
            sink(events)
        for reply in deliveries.replies:
            reply()
        self.steps.append(step)

    def run_dry(self, *messages):
        self.turn(*messages)
        while not self.scheduler.idle:
            self.turn()

    def mount(self, key, folder):
        return Mount(model="m", key=key, folder=open_adapter(folder), reply=self.replies.append)

    def ask(self, name):
        self.heard[name] = []
        request = GenerateRequest(
            id=name,
            model="m",
            prompt=tuple(range(20, 30)),
            max_tokens=ROW - 10,
            sampling=Sampling(
                temperature=0.0, seed=1, logit_bias=dict.fromkeys(FRONTEND.tokenizer.end_tokens, -100.0)
            ),
        )
        prompt = FRONTEND.prepare(request)
        reader = FRONTEND.reader(request, prompt, 0)
        order = Order(request=request, prompt=prompt, reader=reader, model="m", sink=self.heard[name].extend)
        return Submit((order,), 0.0)

    @property
    def reserved(self):
        return self.scheduler.snapshot().reserved_bytes


@pytest.fixture
def folder(kit, tmp_path):
    return kit.write_mlx(tmp_path / "a", kit.halves(kit.everywhere(), seed=1, strength=0.5))


@pytest.fixture
def size(folder):
    """Its bytes."""
    return 4 * open_adapter(folder).numbers


@pytest.fixture
def house(network, family):
    return lambda total: House(network, family, total)


def demand(tokens):
    """Return the bytes of a row of so many tokens."""
    return Admission({"m": Account(FOOTPRINT, 512)}, 10**12, chunk=64).demand("m", [tokens])


def test_what_is_mounted_is_reserved_until_it_has_gone(house, folder, size):
    here = house(10**9)
    before = here.reserved
    mx.synchronize()
    held = mx.get_active_memory()
    here.run_dry(here.mount("a@1", folder))
    assert isinstance(here.replies[-1], Fitted)
    assert here.reserved == before + size
    assert mx.get_active_memory() - held == pytest.approx(size, rel=0.05)
    here.run_dry(Unmount("m", "a@1"))
    assert here.reserved == before


def test_an_adapter_waits_until_rows_have_left_it_room(house, folder, size):
    here = house(FOOTPRINT.held + demand(ROW) + size // 2)
    here.turn(here.ask("first"))
    here.turn(here.mount("a@1", folder))
    while not isinstance(here.heard["first"][-1], Finished):
        assert not here.replies, "it would not fit beside the row"
        here.turn()
    here.run_dry()
    assert isinstance(here.replies[-1], Fitted)


def test_where_there_is_room_nobody_waits(house, folder, size):
    here = house(FOOTPRINT.held + demand(ROW) + size)
    here.turn(here.ask("first"))
    here.turn(here.mount("a@1", folder))
    assert isinstance(here.steps[-1], Adapt)


def test_an_adapter_that_leaves_no_room_for_any_answer_is_refused_before_it_is_read(house, folder, size):
    here = house(FOOTPRINT.held + demand(2) + size // 2)
    here.run_dry(here.mount("a@1", folder))
    [refused] = here.replies
    assert isinstance(refused, OverBudget)
    assert "adapter 'a'" in refused.message
    assert not [step for step in here.steps if isinstance(step, Adapt)]
