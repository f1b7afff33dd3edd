"""Adapters in the engine: every row has its own, and they come and go between steps."""

from queue import SimpleQueue

import mlx.core as mx
import pytest
from msgspec import Struct

from mlxp_core.adapters import Fitted, open_adapter
from mlxp_core.adapters.lora import AdaptedLinear
from mlxp_core.engine import Engine, Mount, Order, Unmount
from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import Cancel, Close, Submit
from mlxp_core.engine.runner import BatchRunner
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.shelf import Shelf
from mlxp_core.engine.steps import Adapt, Decode
from mlxp_core.errors import BadAdapter, Unavailable
from mlxp_core.kv import PlainPolicy, policy_for
from mlxp_core.loading.network import Network
from mlxp_core.testing.client import PATIENCE_S, SketchFrontend
from mlxp_core.types import (
    EngineSettings,
    Failed,
    Finished,
    GenerateRequest,
    KVScheme,
    Sampling,
    TextDelta,
)

FRONTEND = SketchFrontend()


class Plan(Struct):
    """As much of a plan as a shelf needs."""

    family: object
    progress: object = None


class Asked:
    """A request for one answer, and what was said."""

    def __init__(self, name, tokens, adapters=(), *, choices=1, length=12):
        self.heard = []
        request = GenerateRequest(
            id=name,
            model="m",
            prompt=tuple(tokens),
            adapters=tuple(key.partition("@")[0] for key in adapters),
            max_tokens=length,
            choices=choices,
            sampling=Sampling(
                temperature=0.0, seed=1, logit_bias=dict.fromkeys(FRONTEND.tokenizer.end_tokens, -100.0)
            ),
        )
        prompt = FRONTEND.prepare(request)
        self.orders = tuple(
            Order(
                request=request,
                prompt=prompt,
                reader=FRONTEND.reader(request, prompt, choice),
                model="m",
                sink=self.heard.extend,
                choice=choice,
                adapters=tuple(adapters),
            )
            for choice in range(choices)
        )

    @property
    def text(self):
        return "".join(event.text for event in self.heard if isinstance(event, TextDelta))

    @property
    def message(self):
        return Submit(self.orders, 0.0)


class House:
    """Scheduler and device runner, turned by hand."""

    def __init__(self, network, family, **engine):
        policy, kv = policy_for(network, KVScheme(), mx.float32)
        held = Network(model=network, policy=policy, kv=kv, vocabulary=384, weight_bytes=0)
        shelf = Shelf({"m": Plan(family)}, halted=lambda: False, load=lambda *_: held)
        clock = iter(range(10**6)).__next__
        self.runner = BatchRunner(shelf, {}, clock)
        self.scheduler = Scheduler(["m"], EngineSettings(**{"prompt_cache_bytes": 0, **engine}), clock)
        self.steps, self.replies = [], []

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


@pytest.fixture
def folders(kit, tmp_path):
    """Return folders of adapters a and b, which change every module by much."""
    return {
        name: kit.write_mlx(tmp_path / name, kit.halves(kit.everywhere(), seed=seed, strength=0.5))
        for seed, name in enumerate("ab")
    }


@pytest.fixture
def house(network, family, folders):
    """Make a house with both mounted."""

    def make(**engine):
        made = House(network, family, **engine)
        made.run_dry(*(made.mount(f"{name}@1", folder) for name, folder in folders.items()))
        assert [type(reply) for reply in made.replies] == [Fitted, Fitted]
        return made

    return make


def tokens(number):
    return [(7 * place + 31 * number) % 300 + 20 for place in range(3 + number % 4 * 5)]


SETS = [(), ("a@1",), ("b@1",), ("a@1", "b@1")]


def test_eight_rows_with_four_sets_in_one_batch_say_what_each_says_alone(house):
    together = [Asked(f"r{number}", tokens(number), SETS[number % 4], length=30) for number in range(8)]
    alone = [Asked(f"r{number}", tokens(number), SETS[number % 4], length=30) for number in range(8)]
    here = house(batch=8, prefill_chunk=6)
    here.run_dry(*(asked.message for asked in together))
    assert max(len(step.rows) for step in here.steps if isinstance(step, Decode)) == 8
    there = house(batch=1)
    for asked in alone:
        there.run_dry(asked.message)
    assert [asked.text for asked in together] == [asked.text for asked in alone]
    assert all(isinstance(asked.heard[-1], Finished) for asked in together)


def test_rows_with_different_adapters_guess_together_and_say_the_same(house):
    answers = []
    for speculate in ("off", "lookup"):
        asked = [Asked(f"r{number}", tokens(number), SETS[number % 4], length=150) for number in range(5)]
        house(batch=5, speculate=speculate).run_dry(*(one.message for one in asked))
        answers.append([one.text for one in asked])
    assert answers[0] == answers[1]
    assert sum(one.heard[-1].usage.accepted for one in asked)


def test_adapters_change_what_is_said(house):
    here, said = house(), set()
    for number, taken in enumerate(SETS):
        asked = Asked(f"r{number}", tokens(1), taken)
        here.run_dry(asked.message)
        said.add(asked.text)
    assert len(said) == len(SETS)


def test_a_row_keeps_its_own_while_others_come_and_go(house):
    here = house(batch=2)
    alone = Asked("r", tokens(1), ("a@1",), length=30)
    here.run_dry(alone.message)
    asked = Asked("r", tokens(1), ("a@1",), length=30)
    here.turn(asked.message)
    for number in range(4):
        here.turn(Asked(f"x{number}", tokens(number), SETS[number], length=2 + number).message)
        here.turn()
    here.run_dry(Cancel("x3"))
    assert asked.text == alone.text


def test_choices_fork_with_their_adapters(house):
    here = house()
    one, three = Asked("one", tokens(2), ("b@1",)), Asked("three", tokens(2), ("b@1",), choices=3)
    here.run_dry(one.message)
    here.run_dry(three.message)
    by_choice = {}
    for event in three.heard:
        if isinstance(event, TextDelta):
            by_choice[event.choice] = by_choice.get(event.choice, "") + event.text
    assert by_choice == dict.fromkeys(range(3), one.text)


def test_mounting_and_unmounting_disturb_nobody(network, family, folders):
    plain = House(network, family)
    alone = Asked("r", tokens(3), length=20)
    plain.run_dry(alone.message)
    here = House(network, family)
    asked = Asked("r", tokens(3), length=20)
    here.turn(asked.message)
    while not asked.text:
        here.turn()
    here.turn(here.mount("a@1", folders["a"]))
    here.turn()
    later = Asked("s", tokens(3), ("a@1",), length=20)
    here.turn(later.message)
    here.turn()
    here.turn(Unmount("m", "a@1"))
    here.run_dry()
    assert asked.text == alone.text
    assert later.text != alone.text
    assert isinstance(later.heard[-1], Finished)


def test_an_adapter_goes_when_the_last_row_that_takes_it_has_ended(house, network):
    here = house()
    expected = Asked("r", tokens(1), ("a@1",), length=20)
    here.run_dry(expected.message)
    running, waiting = (Asked(name, tokens(1), ("a@1",), length=20) for name in ("r", "w"))
    here.turn(running.message, waiting.message)
    here.turn(Unmount("m", "a@1"), Unmount("m", "b@1"))
    here.turn()
    assert sum(isinstance(step, Adapt) and step.message.key == "b@1" for step in here.steps) == 2
    assert isinstance(network.layers[0].self_attn.q_proj, AdaptedLinear)
    here.run_dry()
    assert (running.text, waiting.text) == (expected.text, expected.text)
    assert not isinstance(network.layers[0].self_attn.q_proj, AdaptedLinear)
    assert here.scheduler.idle


def test_an_id_that_is_mounted_again_is_another_mount(house, folders):
    here = house()
    first = Asked("r", tokens(1), ("a@1",), length=20)
    here.turn(first.message)
    here.turn(Unmount("m", "a@1"), here.mount("a@2", folders["b"]))
    second = Asked("s", tokens(1), ("a@2",), length=20)
    here.run_dry(second.message)
    other = Asked("t", tokens(1), ("b@1",), length=20)  # the same matrices under another key
    here.run_dry(other.message)
    assert second.text == other.text
    assert first.text != second.text


def test_one_that_does_not_fit_is_told_to_whoever_asked_alone(house, kit, tmp_path):
    here = house()
    alone = Asked("r", tokens(1), ("a@1",))
    here.run_dry(alone.message)
    wrong = kit.write_mlx(
        tmp_path / "w", {"model.layers.0.mlp.up_proj": (mx.ones((16, 2)), mx.ones((2, 96)))}
    )
    asked = Asked("r", tokens(1), ("a@1",))
    here.turn(asked.message)
    here.run_dry(here.mount("w@1", wrong))
    assert isinstance(here.replies[-1], BadAdapter)
    assert "goes from 32 to 96" in here.replies[-1].message
    assert asked.text == alone.text


def test_whoever_waits_for_an_adapter_when_the_engine_stops_is_told(house, folders):
    here = house()
    here.turn(here.mount("c@1", folders["a"]), Close(10**6))
    assert isinstance(here.replies[-1], Unavailable)
    assert here.scheduler.idle


class Living:
    """An engine on its own thread, whose calls to the event loop are made by hand."""

    def __init__(self, network, family, mounts=()):
        self.calls = SimpleQueue()
        held = Network(model=network, policy=PlainPolicy(mx.float32), vocabulary=384, weight_bytes=0)
        plans = {"m": Plan(family)}
        self.engine = Engine(
            plans,
            EngineSettings(prompt_cache_bytes=0),
            {},
            make_runner=lambda halted: BatchRunner(Shelf(plans, halted=halted, load=lambda *_: held), {}),
        )
        self.engine.start(self.calls.put, mounts)

    def hear(self):
        """Make the next call."""
        self.calls.get(timeout=PATIENCE_S)()


def test_adapters_of_the_start_are_there_before_anything_is_answered(network, family, folders):
    mx.eval(network.parameters())
    replies = []
    first = Mount(model="m", key="a@1", folder=open_adapter(folders["a"]), reply=replies.append, vital=True)
    living = Living(network, family, [first])
    assert living.engine.wait_ready(PATIENCE_S)
    living.hear()
    assert replies[0].modules == 14
    asked = Asked("r", tokens(1), ("a@1",))
    living.engine.submit(asked.orders)
    while not (asked.heard and isinstance(asked.heard[-1], Finished | Failed)):
        living.hear()
    assert isinstance(asked.heard[-1], Finished)
    living.engine.stop(0)
    with pytest.raises(Unavailable):
        living.engine.mount(first)


def test_an_engine_does_not_begin_without_the_adapters_of_its_start(network, family, kit, tmp_path):
    mx.eval(network.parameters())
    wrong = kit.write_mlx(
        tmp_path / "w", {"model.layers.0.mlp.up_proj": (mx.ones((16, 2)), mx.ones((2, 96)))}
    )
    replies = []
    first = Mount(model="m", key="w@1", folder=open_adapter(wrong), reply=replies.append, vital=True)
    living = Living(network, family, [first])
    with pytest.raises(BadAdapter, match="goes from 32 to 96"):
        living.engine.wait_ready(PATIENCE_S)
    living.hear()
    assert isinstance(replies[0], Unavailable)
    assert living.engine.stats().state == "lost"
