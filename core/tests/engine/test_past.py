"""Rows that go on from what was read before say what they would have said, and read only what is new."""

import itertools
import random
from pathlib import Path

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx import nn
from msgspec.structs import replace

from mlxp_core.adapters import AdapterFolder
from mlxp_core.engine import Pool
from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import Cancel, Mount, Submit, Unmount
from mlxp_core.engine.origins import Origin
from mlxp_core.engine.past import Past
from mlxp_core.engine.pauses import LEAST, spaced
from mlxp_core.engine.runner import BatchRunner
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.sequence import Sequence
from mlxp_core.engine.shelf import Shelf
from mlxp_core.engine.steps import Prefill, Recall
from mlxp_core.kv import BatchCache, PlainPolicy, forward
from mlxp_core.loading.network import Network
from mlxp_core.promptcache.tiers import Tiers
from mlxp_core.prompting import Prompt
from mlxp_core.testing.networks import load, random_parameters
from mlxp_core.types import EngineSettings, Failed, Finished, Prefilled, Sampling, TextDelta

VOCABULARY, HIDDEN, HEADS, WINDOW = 64, 32, 2, 7
GREEDY = Sampling(temperature=0.0, seed=1, logit_bias={0: -100.0})


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)

    def __call__(self, x, at, cache):
        rows, width, _ = x.shape
        split = self.qkv(x).reshape(rows, width, 3 * HEADS, -1).swapaxes(1, 2)
        q, k, v = (split[:, part * HEADS : (part + 1) * HEADS] for part in range(3))
        q, k = (mx.fast.rope(x, 16, traditional=False, base=1e4, scale=1.0, offset=at.offset) for x in (q, k))
        attended = cache.attend(q, k, v, at, scale=0.25)
        return self.out(attended.swapaxes(1, 2).reshape(rows, width, HIDDEN))


class Echo(nn.Module):
    """A recurrent layer: a decaying sum of all inputs so far."""

    def __call__(self, x, at, cache):
        (state,) = cache.state
        outs = []
        for place in range(at.width):
            new = 0.5 * state + x[:, place]
            state = new if at.valid is None else mx.where(at.valid[:, place, None], new, state)
            outs.append(state)
        cache.state = (state,)
        return mx.stack(outs, axis=1)


class Tiny(nn.Module):
    """Two layers of the kinds asked for."""

    def __init__(self, kind):
        super().__init__()
        self._kind = kind
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.first = Attention()
        self.second = Echo() if kind == "recurrent" else Attention()
        self.norm = nn.RMSNorm(HIDDEN)
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def __call__(self, inputs, caches):
        x = self.embed(inputs.tokens)
        for layer, cache in zip((self.first, self.second), caches, strict=True):
            x = x + layer(self.norm(x), inputs.at, cache)
        return self.norm(x)

    def embed(self, tokens):
        return self.embedding(tokens)

    def logits(self, hidden):
        return 2 * self.head(hidden)

    def make_caches(self, policy):
        match self._kind:
            case "full":
                return [policy.full(0), policy.full(1)]
            case "sliding":
                return [policy.full(0), policy.sliding(1, WINDOW)]
            case "recurrent":
                return [policy.full(0), policy.state(1, [(HIDDEN,)], [mx.float32])]


@pytest.fixture(scope="module", params=["full", "sliding", "recurrent"])
def network(request):
    model = Tiny(request.param)
    load(model, random_parameters(model, 3))
    return Network(model=model, policy=PlainPolicy(mx.float32), vocabulary=VOCABULARY, weight_bytes=0)


class House:
    """Scheduler and device runner with a prompt cache, turned by hand."""

    def __init__(self, network, clock, *, limit_bytes=2**24, tiers=None, **engine):
        shelf = Shelf({"m": None}, halted=lambda: False, load=lambda *_: network)
        chosen = EngineSettings(**{"prefill_chunk": 16, "prompt_cache_bytes": limit_bytes, **engine})
        self.past = Past(shelf, tiers=tiers or Tiers(limit_bytes), origin=Origin, chunk=chosen.prefill_chunk)
        self.runner = BatchRunner(shelf, {}, clock, self.past)
        self.scheduler = Scheduler(["m"], chosen, clock)
        self.steps = []

    def turn(self, *messages):
        self.scheduler.apply(messages)
        step = self.scheduler.next_step()
        deliveries = self.scheduler.settle(step, contained(self.runner.run, step))
        for sink, events in deliveries.events:
            sink(events)
        self.steps.append(step)
        return deliveries

    def run_dry(self, *messages):
        self.turn(*messages)
        while not self.scheduler.idle:
            self.turn()
        self.turn()  # what ended last is kept, and freed

    def read(self):
        """Return how many tokens of prompts went through the network, and forget them."""
        count = sum(step.count for step in self.steps if isinstance(step, Prefill))
        self.steps.clear()
        return count

    @property
    def stats(self):
        return self.scheduler.snapshot().prompt_cache


@pytest.fixture(scope="module")
def house(network, clocks):
    return lambda **engine: House(network, clocks(), **engine)


@pytest.fixture(scope="module")
def asking(orders):
    """Make requests whose prompts have boundaries."""

    def ask(request_id, prompt, boundaries=(), **more):
        known = {"sampling": GREEDY, "max_tokens": 4, **more}
        asked = orders(request_id, prompt=prompt, **known)
        marked = Prompt(tokens=tuple(prompt), boundaries=tuple(boundaries))
        asked.orders = tuple(replace(order, prompt=marked) for order in asked.orders)
        return asked

    return ask


def submit(*asked):
    return [Submit(one.orders, 0.0) for one in asked]


def text(asked, choice=0):
    return "".join(e.text for e in asked.heard if isinstance(e, TextDelta) and e.choice == choice)


def numbers(asked):
    return [int(word) for word in text(asked).split()]


def usage(asked):
    return asked.heard[-1].usage


def random_tokens(seed, count):
    dice = random.Random(seed)
    return [dice.randrange(1, VOCABULARY) for _ in range(count)]


@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_warm_answers_are_cold_answers(house, asking, data):
    """Random prompts that begin like earlier ones, cut at random, together and one by one."""
    warm, stems = house(batch=3), [random_tokens(seed, 70) for seed in (1, 2)]
    for number in range(8):
        stem = data.draw(st.sampled_from(stems))[: data.draw(st.integers(1, 70))]
        tail = random_tokens(data.draw(st.integers(3, 6)), data.draw(st.integers(0, 25)))
        prompt = stem + tail
        cuts = sorted(data.draw(st.sets(st.integers(1, len(prompt)), max_size=3)) - {len(prompt)})
        here, alone = (asking(f"r{number}", prompt, cuts, max_tokens=6) for _ in range(2))
        warm.run_dry(*submit(here))
        house(limit_bytes=0).run_dry(*submit(alone))
        assert text(here) == text(alone)
        assert usage(here).cached < usage(here).prompt == len(prompt)
        stems.append(prompt + numbers(here))


def test_a_conversation_reads_only_what_is_new(house, asking):
    """Twenty turns, each of which shows the one before without the lead-in, as templates do."""
    here, history, lead = house(), random_tokens(1, 40), [60, 61, 62]
    for turn in range(20):
        asked = asking(f"r{turn}", history + lead, [40, len(history)])
        here.run_dry(*submit(asked))
        new = len(lead) if turn == 0 else len(lead) + 24
        assert usage(asked).prompt - usage(asked).cached <= new + (40 if turn == 0 else 0)
        assert here.read() == usage(asked).prompt - usage(asked).cached
        history = history + numbers(asked) + random_tokens(turn + 7, 20)
    assert here.stats.hits == 19


def test_a_branch_finds_its_beginning_and_destroys_nothing(house, asking):
    here, history, turns = house(), random_tokens(1, 40), []
    for turn in range(8):
        asked = asking(f"r{turn}", [*history, 60], [len(history)])
        here.run_dry(*submit(asked))
        turns.append(history)
        history = history + random_tokens(turn + 7, 30)
    branch = turns[5] + random_tokens(99, 12)
    asked = asking("branch", [*branch, 60], [len(branch)])
    here.run_dry(*submit(asked))
    assert usage(asked).cached >= len(turns[5])
    again = asking("again", [*history, 60], [len(history)])
    here.run_dry(*submit(again))
    assert usage(again).cached >= len(turns[7])


def test_checkpoints_of_a_conversation_share_what_they_have_in_common(house, asking):
    here, history = house(), random_tokens(1, 40)
    for turn in range(20):
        here.run_dry(*submit(asking(f"r{turn}", [*history, 60], [len(history)])))
        history = history + random_tokens(turn + 7, 30)
    tokens = len(history) + 20 * (1 + 4)  # every lead-in and answer is a branch of its own
    layers = tokens * 2 * 2 * HIDDEN * 4  # keys and values
    state = here.stats.entries * HIDDEN * 4
    assert here.stats.entries >= 20
    assert here.stats.bytes <= layers + state


def test_choices_share_what_was_cached(house, asking):
    here, prompt = house(batch=4), random_tokens(1, 60)
    here.run_dry(*submit(asking("first", prompt, [50])))
    asked = asking("more", [*prompt[:50], 3, 4], [50], choices=3, max_tokens=5)
    here.run_dry(*submit(asked))
    ends = [event for event in asked.heard if isinstance(event, Finished)]
    assert [end.usage.cached for end in ends] == [50] * 3
    alone = asking("more", [*prompt[:50], 3, 4], max_tokens=5)
    house(limit_bytes=0).run_dry(*submit(alone))
    assert {text(asked, choice) for choice in range(3)} == {text(alone)}


def test_prefilled_tells_what_came_from_the_cache(house, asking):
    here, prompt = house(), random_tokens(1, 60)
    here.run_dry(*submit(asking("first", prompt, [50])))
    asked = asking("second", [*prompt[:50], *random_tokens(5, 30)], [50])
    here.run_dry(*submit(asked))
    told = [event for event in asked.heard if isinstance(event, Prefilled)]
    assert [event.cached for event in told] == [50] * len(told)
    assert [event.done for event in told][-1] == 80
    assert told[0].done > 50


@pytest.mark.parametrize("turns", [3, 5, 8])
def test_what_a_cancelled_row_computed_is_not_lost(house, asking, turns):
    here, prompt = house(), random_tokens(1, 100)
    asked = asking("left", prompt, max_tokens=50)
    here.turn(*submit(asked))
    for _ in range(turns):
        here.turn()
    here.run_dry(Cancel("left"))
    read = here.read()
    again = asking("again", prompt, max_tokens=5)
    here.run_dry(*submit(again))
    assert usage(again).cached >= min(read, 96) // 16 * 16 > 0
    alone = asking("alone", prompt, max_tokens=5)
    house(limit_bytes=0).run_dry(*submit(alone))
    assert text(again) == text(alone)


def test_nothing_is_kept_of_a_step_that_failed(house, asking, network, monkeypatch):
    here = house()
    asked = asking("r", random_tokens(1, 30), max_tokens=30)
    here.turn(*submit(asked))
    for _ in range(6):
        here.turn()
    before = here.stats.entries

    def broken(*_):
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(type(network.model), "logits", broken)
        here.turn()
    here.turn()
    assert isinstance(asked.heard[-1], Failed)
    assert here.stats.entries == before


def test_vectors_are_never_taken_from_the_cache(house, asking):
    here, prompt = house(), random_tokens(1, 60)
    here.run_dry(*submit(asking("first", prompt, [50])))
    vectors, asked = [], asking("vector", prompt, [50], max_tokens=1)
    pooled = tuple(replace(order, pool=Pool("mean", vectors.append)) for order in asked.orders)
    here.steps.clear()
    here.run_dry(Submit(pooled, 0.0))
    assert len(vectors) == 1
    assert here.read() == 60
    assert not any(isinstance(step, Recall) for step in here.steps)


def mounted(key):
    """Return word of an adapter whose files nobody opens."""
    nowhere = Path("nowhere")
    files = AdapterFolder(
        path=nowhere, file=nowhere, terms=(), rank=1, scale=1.0, base_model=None, identity="1"
    )
    return Mount(model="m", key=key, folder=files, reply=lambda _: None)


def test_adapters_keep_apart_and_are_forgotten(house, asking):
    here, prompt = house(), random_tokens(1, 60)

    def ask(request_id, *adapters):
        asked = asking(request_id, prompt, [50])
        asked.orders = tuple(replace(order, adapters=adapters) for order in asked.orders)
        return asked

    def run(asked):
        sequence = Sequence(
            99, asked.orders[0], 0.0
        )  # only the cache is asked: the shelf has no such adapters
        return here.past.recall(sequence)[1].cached

    here.run_dry(*submit(asking("plain", prompt, [50])))
    here.past.note(mounted("one"))
    assert run(ask("plain again")) > 0
    assert run(ask("adapted", "one")) == 0
    here.past.note(Unmount(model="m", key="one"))
    assert run(ask("plain once more")) > 0
    here.past.close()
    assert run(ask("after all")) == 0


def test_a_row_that_outlives_its_adapter_is_no_fault(house, asking, network, caplog):
    """Its choice has ended, the adapter is let go of, and the rows beside it have not stepped since."""
    here, prompt = house(), random_tokens(1, 60)
    here.run_dry(*submit(asking("plain", prompt, [50])))
    here.past.note(mounted("one"))
    asked = asking("adapted", prompt, [50])
    sequence = Sequence(99, replace(asked.orders[0], adapters=("one",)), 0.0)
    sequence.cancel(0.0)
    row = BatchCache(network.model.make_caches(network.policy))
    forward(network.model, row, mx.array([sequence.prompt], dtype=mx.int32))
    entries = here.past.stats.entries
    here.past.keep_ended([(sequence, row, 0)])
    assert here.past.stats.entries == entries + 1
    here.past.note(Unmount(model="m", key="one"))
    here.past.keep_ended([(sequence, row, 0)])
    assert here.past.stats.entries == entries
    assert not caplog.records


def test_bytes_stay_under_the_limit_and_return(house, asking):
    here = house(batch=4, limit_bytes=60_000)
    for number in range(40):
        here.run_dry(*submit(asking(f"r{number}", random_tokens(number % 9, 20 + number), [10, 20])))
        assert here.stats.bytes <= 60_000
    assert here.stats.bytes > 0
    assert here.scheduler.snapshot().cache_bytes == 0
    here.past.shrink(0)
    here.turn()
    assert (here.stats.bytes, here.stats.entries) == (0, 0)


def test_device_memory_is_what_the_cache_says(house, asking):
    here = house(batch=4, limit_bytes=2**20)

    def used():
        mx.synchronize()
        mx.clear_cache()
        return mx.get_active_memory() - here.stats.bytes

    here.run_dry(*submit(asking("first", random_tokens(1, 60), [50])))
    first = used()
    for number in range(12):
        here.run_dry(*submit(asking(f"r{number}", random_tokens(number, 90), [30, 80], choices=2)))
    slack = 16 * 1024  # MLX lets a small result have so many bytes more than it needs
    assert used() <= first + here.stats.entries * slack


def test_numbers_and_explanations_are_told(house, asking):
    here, prompt = house(), random_tokens(1, 60)
    first, second = asking("first", prompt, [50]), asking("second", [*prompt[:50], 3, 4, 5], [50])
    deliveries = []
    here.run_dry(*submit(first))
    here.turn(*submit(second))
    while not here.scheduler.idle:
        deliveries.append(here.turn())
    (record,) = [record for delivery in deliveries for record in delivery.records]
    assert (here.stats.hits, here.stats.misses, here.stats.hit_tokens) == (1, 1, 50)
    assert [reuse.request_id for reuse in here.stats.recent] == ["first", "second"]
    assert record.reuse == second.heard[-1].reuse == here.stats.recent[-1]
    assert record.reuse.parting.place == 50
    assert first.heard[-1].reuse.cause == "empty"
    assert record.usage.cached == 50


@given(places=st.lists(st.integers(1, 300), max_size=12, unique=True).map(sorted), after=st.integers(0, 50))
def test_pauses_are_apart_but_for_the_first_and_the_last(places, after):
    places = [place for place in places if place > after]
    kept = spaced(places, after)
    assert list(kept) == sorted(kept)
    assert set(kept) <= set(places)
    if places:
        assert kept[0] == places[0]
        assert kept[-1] == places[-1]
    assert all(later - one >= LEAST for one, later in itertools.pairwise(kept[1:]))


@pytest.fixture
def folders(network, clocks, tmp_path):
    """Make houses that keep checkpoints in one folder; each closes the one before, as a restart does."""
    made = []

    def make(**engine):
        for old in made:
            old.runner.close()
        made.append(House(network, clocks(), tiers=Tiers(2**24, tmp_path, 2**24), **engine))
        return made[-1]

    yield make
    made[-1].runner.close()


def test_a_restart_goes_on_from_what_was_read_before(folders, house, asking):
    prompt, more = random_tokens(1, 80), random_tokens(2, 15)
    before = folders()
    before.run_dry(*submit(asking("first", prompt, [60])))
    here = folders()
    asked, alone = (asking("second", [*prompt[:60], *more], [60], max_tokens=8) for _ in range(2))
    here.run_dry(*submit(asked))
    house(limit_bytes=0).run_dry(*submit(alone))
    assert usage(asked).cached == 60
    assert text(asked) == text(alone)
    assert here.stats.disk_entries >= 1
    assert 0 < here.stats.disk_bytes <= here.stats.disk_limit_bytes


def test_rows_go_on_while_another_waits_for_the_disk(folders, house, asking):
    prompt = random_tokens(1, 80)
    folders().run_dry(*submit(asking("first", prompt, [60])))
    here = folders(batch=2)
    busy = asking("busy", random_tokens(3, 20), max_tokens=200)
    here.turn(*submit(busy))
    while len(numbers(busy)) < 2:
        here.turn()
    asked = asking("second", [*prompt[:60], 3, 4], [60])
    here.turn(*submit(asked))
    while not usage_known(asked):
        said = len(numbers(busy))
        here.turn()
        here.turn()
        assert len(numbers(busy)) > said
    here.run_dry()
    assert usage(asked).cached in {0, 60}  # the folder may not have been looked through yet
    alone = asking("second", [*prompt[:60], 3, 4])
    house(limit_bytes=0).run_dry(*submit(alone))
    assert text(asked) == text(alone)


def usage_known(asked):
    return any(isinstance(event, Prefilled) for event in asked.heard)


class Shifted(PlainPolicy):
    """Broken: what is thawed is not what was frozen."""

    def full(self, layer):
        made = super().full(layer)
        thaw = made.thaw

        def wrong(snapshot):
            arrays = tuple(array + 0.1 for array in snapshot.arrays)
            return thaw(replace(snapshot, arrays=arrays))

        made.thaw = wrong
        return made


def test_a_model_that_fails_its_trial_is_never_served_from_the_cache(network, clocks, house, asking, caplog):
    here, prompt = House(replace(network, policy=Shifted(mx.float32)), clocks()), random_tokens(1, 60)
    for number in range(3):
        asked, alone = (asking(f"r{number}", [*prompt, *range(1, number + 2)], [50]) for _ in range(2))
        here.run_dry(*submit(asked))
        house(limit_bytes=0).run_dry(*submit(alone))
        assert text(asked) == text(alone)
        assert usage(asked).cached == 0
    assert "reuses nothing of m" in caplog.text
    assert "off by" in here.stats.off
    assert (here.stats.entries, here.stats.hits) == (0, 0)


def test_a_sound_model_passes_its_trial_in_idle_time(house, asking):
    here = house()
    here.run_dry(*submit(asking("first", random_tokens(1, 60), [50])))
    assert here.past._trials._tried == {"m"}
    assert not here.past._trials.due
    assert here.stats.off is None
