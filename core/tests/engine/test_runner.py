"""The runner with a real network: a row computes the same whoever its neighbours are, and leaves nothing behind."""

import random
from queue import SimpleQueue
from types import SimpleNamespace

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx import nn
from msgspec import Raw, Struct
from msgspec.structs import replace

from mlxp_core.contracts import ModelFamily, SamplerStage
from mlxp_core.engine import Engine, LoadPlan, Pool
from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import Cancel, Submit
from mlxp_core.engine.runner import BatchRunner
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.shelf import Shelf
from mlxp_core.engine.steps import Decode, Prefill, Rest
from mlxp_core.errors import PluginError, Unavailable
from mlxp_core.kv import BatchCache, PlainPolicy, forward
from mlxp_core.loading.network import Network
from mlxp_core.sampling.sampler import Sampler
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.testing.networks import Session, load, random_parameters
from mlxp_core.types import EngineSettings, Failed, Finished, Need, Sampling, Scored, TextDelta, Usage

VOCABULARY, HIDDEN, HEADS = 64, 32, 2


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
    """One layer of each kind of cache."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.full, self.sliding, self.echo = Attention(), Attention(), Echo()
        self.norm = nn.RMSNorm(HIDDEN)
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def __call__(self, inputs, caches):
        x = self.embed(inputs.tokens)
        for layer, cache in zip((self.full, self.sliding, self.echo), caches, strict=True):
            x = x + layer(self.norm(x), inputs.at, cache)
        return self.norm(x)

    def embed(self, tokens):
        return self.embedding(tokens)

    def logits(self, hidden):
        return 2 * self.head(hidden)

    def make_caches(self, policy):
        return [policy.full(0), policy.sliding(1, 7), policy.state(2, [(HIDDEN,)], [mx.float32])]


@pytest.fixture(scope="module")
def network():
    model = Tiny()
    load(model, random_parameters(model, 3))
    return Network(model=model, policy=PlainPolicy(mx.float32), vocabulary=VOCABULARY, weight_bytes=0)


class House:
    """Scheduler and device runner, turned by hand."""

    def __init__(self, network, clock, *, stages=(), **engine):
        shelf = Shelf({"m": None}, halted=lambda: False, load=lambda *_: network)
        self.runner = BatchRunner(shelf, {stage.name: stage for stage in stages}, clock)
        self.scheduler = Scheduler(["m"], EngineSettings(**{"prompt_cache_bytes": 0, **engine}), clock)
        self.steps = []

    def turn(self, *messages):
        self.scheduler.apply(messages)
        step = self.scheduler.next_step()
        deliveries = self.scheduler.settle(step, contained(self.runner.run, step))
        for sink, events in deliveries.events:
            sink(events)
        self.steps.append(step)
        return step

    def run_dry(self, *messages):
        self.turn(*messages)
        while not self.scheduler.idle:
            self.turn()


@pytest.fixture(scope="module")
def house(network, clocks):
    def make(**engine):
        return House(network, clocks(), **engine)

    return make


def submit(*asked):
    return [Submit(one.orders, 0.0) for one in asked]


def text(asked, choice=0):
    return "".join(e.text for e in asked.heard if isinstance(e, TextDelta) and e.choice == choice)


SAMPLINGS = [
    Sampling(temperature=0.0, seed=1),
    Sampling(temperature=0.0, seed=1, repetition_penalty=1.3),
    Sampling(temperature=1.0, seed=11, top_p=0.9),
    Sampling(temperature=0.8, seed=12, top_k=7, presence_penalty=0.5),
    Sampling(temperature=1.5, seed=13, min_p=0.05, logit_bias={5: 3.0}),
]


def mixture(orders, seed, count, *, least=1):
    """Return ragged requests, the same for the same seed."""
    dice = random.Random(seed)
    return [
        orders(
            f"r{number}",
            prompt=[dice.randrange(1, VOCABULARY) for _ in range(dice.randint(1, 25))],
            max_tokens=least + dice.randrange(24),
            sampling=dice.choice(SAMPLINGS),
            top_scores=dice.choice([None, None, 2]),
        )
        for number in range(count)
    ]


def test_sixteen_ragged_requests_say_what_each_says_alone(house, orders):
    together, alone = (mixture(orders, 1, 16, least=32) for _ in range(2))
    here = house(batch=16, prefill_chunk=20)
    here.run_dry(*submit(*together))
    for asked, single in zip(together, alone, strict=True):
        house(batch=1, prefill_chunk=100).run_dry(*submit(single))
        assert text(asked) == text(single)
        assert asked.heard[-1].reason == single.heard[-1].reason
        assert asked.heard[-1].usage == single.heard[-1].usage
        check_grammar(asked.heard)
    assert max(len(step.rows) for step in here.steps if isinstance(step, Decode)) >= 14


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_a_row_says_what_network_and_sampler_say_without_an_engine(house, orders, network, sampling, chunk):
    asked = orders(prompt=range(3, 14), max_tokens=15, sampling=sampling)
    house(prefill_chunk=chunk).run_dry(*submit(asked))
    session = Session(network.model)
    sampler = Sampler.start(sampling, range(3, 14), vocabulary=VOCABULARY, top_scores=None, stages={})
    new, said = list(range(3, 14)), []
    while len(said) < 15 and said[-1:] != [0]:
        drawn = sampler.draw(session.read([new])[0][-1:])
        new = drawn.tokens.tolist()
        said += new
    assert text(asked) == "".join(f"{token} " for token in said if token)


@pytest.mark.parametrize("chunk", [2, 100])
def test_padding_rows_of_the_head_are_never_drawn(network, clocks, orders, chunk):
    padded = replace(network, used=9)
    hot = Sampling(temperature=5.0, seed=3)
    one = orders("one", prompt=range(1, 6), max_tokens=40, sampling=hot, choices=2)
    other = orders("other", prompt=range(4, 9), max_tokens=40, sampling=hot, top_scores=20)
    House(padded, clocks(), prefill_chunk=chunk).run_dry(*submit(one, other))
    said = [
        int(word)
        for asked, choice in ((one, 0), (one, 1), (other, 0))
        for word in text(asked, choice).split()
    ]
    assert set(said) <= set(range(1, 9))
    assert len(set(said)) > 4
    scored = {entry.token for event in other.heard if isinstance(event, Scored) for entry in event.top}
    assert scored <= set(range(9))


@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 1000),
    joins=st.lists(st.integers(0, 6), min_size=8, max_size=8),
    batch=st.integers(1, 5),
    cancelled=st.sets(st.integers(0, 7), max_size=3),
)
def test_rows_join_and_leave_at_random(house, orders, seed, joins, batch, cancelled):
    together, alone = mixture(orders, seed, 8), mixture(orders, seed, 8)
    here = house(batch=batch, prefill_chunk=5)
    for number, (asked, turns) in enumerate(zip(together, joins, strict=True)):
        here.turn(*submit(asked))
        for _ in range(turns):
            here.turn()
        if number in cancelled:
            here.turn(Cancel(f"r{number // 2}"))
    here.run_dry()
    house(batch=1).run_dry(*submit(*alone))
    for asked, single in zip(together, alone, strict=True):
        check_grammar(asked.heard)
        if asked.heard[-1].reason == "cancelled":
            assert text(single).startswith(text(asked))
        else:
            assert text(asked) == text(single)
    assert here.scheduler.snapshot().cache_bytes == 0


def test_choices_fork_and_each_draws_with_its_own_seed(house, orders):
    sampling = Sampling(temperature=1.0, seed=40)
    asked = orders(prompt=range(1, 12), choices=4, sampling=sampling, max_tokens=12)
    here = house(batch=3, prefill_chunk=4)
    here.run_dry(*submit(asked))
    assert sum(isinstance(step, Prefill) for step in here.steps) == 3
    for choice in range(4):
        seeded = Sampling(temperature=1.0, seed=40 + choice)
        single = orders(prompt=range(1, 12), sampling=seeded, max_tokens=12)
        house(batch=1).run_dry(*submit(single))
        assert text(asked, choice) == text(single)
    assert len({text(asked, choice) for choice in range(4)}) == 4
    assert here.scheduler.snapshot().cache_bytes == 0


def test_scores_come_with_the_tokens_they_belong_to(house, orders):
    scored, plain = orders("scored", top_scores=3, max_tokens=6), orders("plain", max_tokens=6)
    house().run_dry(*submit(plain, scored))
    scores = [event for event in scored.heard if isinstance(event, Scored)]
    assert [score.chosen.text for score in scores] == [f"{number} " for number in text(scored).split()]
    assert all(score.top[0].token == score.chosen.token for score in scores)
    assert all(score.chosen.logprob <= 0 for score in scores)
    assert not any(isinstance(event, Scored) for event in plain.heard)


def test_a_step_is_dispatched_before_the_last_one_is_read(house, orders):
    asked = orders(max_tokens=4, sampling=SAMPLINGS[0])
    here = house()
    here.turn(*submit(asked))
    here.turn()
    here.turn()
    assert len(text(asked).split()) == 1
    here.turn()
    assert len(text(asked).split()) == 1
    here.turn()
    assert len(text(asked).split()) == 2
    assert here.runner._batch.cache.lengths == [len(asked.orders[0].prompt.tokens) + 2]


class Only:
    """A constraint that allows a single token, one higher than the last."""

    def __init__(self, token):
        self.token = token

    def allowed(self):
        mask = bytearray(VOCABULARY // 8)
        mask[self.token // 8] |= 1 << self.token % 8
        return bytes(mask)

    def advance(self, token):
        assert token == self.token
        self.token += 1


def test_constrained_rows_obey_beside_free_ones(house, orders):
    free, alone = orders("free", max_tokens=20), orders("free", max_tokens=20)
    bound = [orders(f"b{n}", max_tokens=5, constraints=[Only(10 * n)]) for n in (1, 2, 3)]
    here = house(batch=4)
    here.turn(*submit(free))
    here.run_dry(*submit(*bound))
    house().run_dry(*submit(alone))
    assert [text(one) for one in bound] == ["10 11 12 13 14 ", "20 21 22 23 24 ", "30 31 32 33 34 "]
    assert text(free) == text(alone)


# ── Leaving ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 22])
def test_a_cancel_storm_leaves_nothing(house, orders, turns):
    here = house(batch=6, prefill_chunk=4)
    asked = [orders(f"r{n}", prompt=range(1, 20), choices=1 + n % 3, max_tokens=40) for n in range(8)]
    here.turn(*submit(*asked))
    for _ in range(turns):
        here.turn()
    assert here.scheduler.snapshot().cache_bytes > 0
    here.turn(*(Cancel(f"r{n}") for n in range(8)))
    stats = here.scheduler.snapshot()
    assert (stats.waiting, stats.prefilling, stats.running, stats.cache_bytes) == (0, 0, 0, 0)
    assert here.scheduler.idle
    assert here.runner._held == 0
    for one in asked:
        check_grammar(one.heard, choices=one.request.choices)


def test_cache_bytes_follow_the_rows(house, orders):
    here = house()
    endless = Sampling(temperature=0.0, seed=1, logit_bias={0: -100.0})
    here.turn(*submit(orders("long", prompt=range(1, 30), max_tokens=400, sampling=endless)))
    alone = here.scheduler.snapshot().cache_bytes
    here.turn(*submit(orders("short", max_tokens=3)))
    seen = [here.turn() and here.scheduler.snapshot().cache_bytes for _ in range(300)]
    assert max(seen[:10]) > alone
    assert seen[15] < max(seen[:10])
    assert seen[-1] > seen[15]
    assert seen[-1] == here.runner._batch.cache.nbytes


def test_device_memory_returns_after_many_requests(house, orders):
    here = house(batch=4)

    def round_of_requests():
        here.run_dry(*submit(*(orders(f"r{n}", prompt=range(1, 40), max_tokens=10) for n in range(6))))
        here.turn()
        mx.synchronize()
        mx.clear_cache()
        return mx.get_active_memory()

    first = round_of_requests()
    assert [round_of_requests() for _ in range(3)] == [first] * 3


# ── Failing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def failing_stage():
    class Fuse(Struct, frozen=True):
        at: int

    def build(settings):
        raise ValueError(f"fuse {settings[0].at} blew")

    return SamplerStage(name="fuse", order=450, params=Fuse, build=build)


def test_a_row_whose_sampler_fails_fails_alone(house, orders):
    good = orders("good", max_tokens=12)
    bad = orders("bad", sampling=Sampling(temperature=1.0, seed=1, stages={"fuse": Raw(b'{"at": 3}')}))
    here = house(stages=[failing_stage()])
    here.turn(*submit(good))
    here.run_dry(*submit(bad))
    assert isinstance(bad.heard[-1], Failed)
    assert "fuse 3 blew" in bad.heard[-1].message
    assert good.heard[-1].usage.completion == 12
    assert here.scheduler.snapshot().cache_bytes == 0


def stage_that_fails_after(calls):
    """A stage whose map fails in the end, and forgets nothing when the batch changes."""

    class Count(Struct, frozen=True):
        pass

    left = iter(range(calls))

    def build(settings):
        def map_rows(logits):
            if next(left, None) is None:
                raise ValueError("no more")
            return logits

        return map_rows

    return SamplerStage(name="count", order=450, params=Count, build=build)


def test_a_stage_that_fails_midway_fails_its_rows_alone(house, orders):
    free = [orders(f"free{n}", max_tokens=20, sampling=sampling) for n, sampling in enumerate(SAMPLINGS)]
    alone = [orders(f"free{n}", max_tokens=20, sampling=sampling) for n, sampling in enumerate(SAMPLINGS)]
    bad = orders(
        "bad", max_tokens=20, sampling=Sampling(temperature=1.0, seed=1, stages={"count": Raw(b"{}")})
    )
    here = house(stages=[stage_that_fails_after(6)])
    here.run_dry(*submit(*free[:2], bad, *free[2:]))
    for one in alone:
        house().run_dry(*submit(one))
    assert isinstance(bad.heard[-1], Failed)
    assert "no more" in bad.heard[-1].message
    assert text(bad)
    assert [text(one) for one in free] == [text(one) for one in alone]
    assert here.scheduler.snapshot().cache_bytes == 0


def test_a_row_that_fails_with_nobody_beside_it_leaves_nothing(house, orders):
    bad = orders("bad", sampling=Sampling(temperature=1.0, seed=1, stages={"count": Raw(b"{}")}))
    here = house(stages=[stage_that_fails_after(3)])
    here.run_dry(*submit(bad))
    assert isinstance(bad.heard[-1], Failed)
    assert here.scheduler.snapshot().cache_bytes == 0


def test_an_answer_that_had_ended_does_not_fail_by_a_draw_ahead(house, orders):
    sampling = Sampling(temperature=1.0, seed=1, stages={"count": Raw(b"{}")})
    full = orders("r", max_tokens=20, sampling=sampling)
    house(stages=[stage_that_fails_after(99)]).run_dry(*submit(full))
    words = text(full).split()
    cut = orders("r", max_tokens=20, sampling=sampling, stop=(words[3],))
    calls = words.index(words[3]) + 1
    house(stages=[stage_that_fails_after(calls)]).run_dry(*submit(cut))
    assert cut.heard[-1].reason == "stop"


def test_an_empty_mask_fails_its_row_alone(house, orders):
    class Nothing:
        def allowed(self):
            return b"" if self.advanced > 2 else b"\xff" * 8

        def advance(self, token):
            self.advanced += 1

        advanced = 0

    bad, good = orders("bad", constraints=[Nothing()]), orders("good", max_tokens=12)
    here = house()
    here.run_dry(*submit(good, bad))
    assert "allows none" in bad.heard[-1].message
    assert good.heard[-1].usage.completion == 12


def test_after_a_failed_step_the_batch_is_rebuilt_clean(house, orders, network, monkeypatch):
    here = house(batch=4)
    before = [orders(f"r{n}", max_tokens=30) for n in range(3)]
    here.turn(*submit(*before))
    for _ in range(9):
        here.turn()

    def broken(_hidden):
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(type(network.model), "logits", lambda _, hidden: broken(hidden))
        here.turn()
    assert all(isinstance(one.heard[-1], Failed) for one in before)
    here.turn()
    assert here.scheduler.snapshot().cache_bytes == 0
    after, alone = orders(max_tokens=9), orders(max_tokens=9)
    here.run_dry(*submit(after))
    house().run_dry(*submit(alone))
    assert text(after) == text(alone)


def test_closing_frees_everything(house, orders):
    here = house()
    here.turn(*submit(orders(max_tokens=30)))
    for _ in range(4):
        here.turn()
    here.runner.close()
    assert here.runner._batch is None
    with pytest.raises(KeyError):
        here.runner._shelf["m"]


def test_loading_gives_up_when_halted(network):
    told = []

    def slow(_plan, progress):
        progress(1, 3)
        told.append(1)
        halted.append(True)
        progress(2, 3)
        return network

    class Plan:
        @staticmethod
        def progress(done, total):
            told.append((done, total))

    halted = []
    shelf = Shelf({"m": Plan}, halted=lambda: bool(halted), load=slow)
    with pytest.raises(Unavailable, match="2 of 3"):
        shelf.load("m")
    assert told == [(1, 3), 1]


def test_an_engine_of_its_own_thread_serves_from_the_device(orders):
    """Load, prefill, decode and free, all on a thread that is not the one that asks."""

    def build(*_):
        model = Tiny()
        load(model, random_parameters(model, 3))
        mx.eval(model.parameters())
        return Network(model=model, policy=PlainPolicy(mx.float32), vocabulary=VOCABULARY, weight_bytes=0)

    calls = SimpleQueue()
    engine = Engine(
        {"m": None},
        EngineSettings(batch=3, prompt_cache_bytes=0),
        {},
        make_runner=lambda halted: BatchRunner(Shelf({"m": None}, halted=halted, load=build), {}),
    )
    engine.start(calls.put)
    asked = mixture(orders, 7, 5)
    try:
        for one in asked:
            engine.submit(one.orders)
        while not all(one.heard and isinstance(one.heard[-1], Finished) for one in asked):
            calls.get(timeout=30)()
    finally:
        engine.stop(0)
    assert engine.stats().finished == 5
    assert engine.stats().cache_bytes == 0
    assert engine.stats().host_s > engine.stats().build_s > 0
    assert engine.stats().device_s > 0


def test_the_engine_loads_by_its_plans(tmp_path):
    damaged = LoadPlan(folder=tmp_path, family=BROKEN_FAMILY, config=None)
    engine = Engine({"m": damaged}, EngineSettings(), {})
    engine.start(lambda call: call())
    with pytest.raises(PluginError, match="'broken' builds a dict"):
        engine.wait_ready(30)
    assert engine.stats().state == "lost"


BROKEN_FAMILY = ModelFamily(
    name="broken",
    model_types=("broken",),
    config=lambda raw: raw,
    build=lambda _: {},
    rename=lambda name: name,
    need=lambda *_: Need(),
)


def test_answers_vary_enough_for_these_laws_to_mean_something(house, orders):
    asked = mixture(orders, 5, 12, least=20)
    house(batch=12).run_dry(*submit(*asked))
    said = [text(one).split() for one in asked]
    assert sum(len(set(tokens)) for tokens in said) > 12 * 8


def test_whoever_finishes_has_said_why(house, orders):
    asked = mixture(orders, 5, 6)
    house().run_dry(*submit(*asked))
    assert {type(one.heard[-1]) for one in asked} == {Finished}


def for_vector(asked, pooling, into):
    """Return the orders of a request, made orders for a vector that goes into the list."""
    return Submit(tuple(replace(order, pool=Pool(pooling, into.append)) for order in asked.orders), 0.0)


@pytest.mark.parametrize("pooling", ["last", "mean", "weighted_mean"])
@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_a_vector_is_the_same_alone_and_in_company(house, orders, network, pooling, chunk):
    cache = BatchCache(network.model.make_caches(network.policy))
    hidden = forward(network.model, cache, mx.arange(3, 14)[None])[0]
    weights = {"last": mx.arange(11) == 10, "mean": mx.ones(11), "weighted_mean": mx.arange(1, 12)}[pooling]
    expected = (hidden * weights[:, None]).sum(axis=0)
    expected = (expected / mx.linalg.norm(expected)).tolist()
    vectors, asked = [], orders("v", prompt=range(3, 14), max_tokens=1)
    here = house(batch=3, prefill_chunk=chunk)
    others = mixture(orders, 5, 6)
    here.run_dry(*submit(*others[:3]), for_vector(asked, pooling, vectors), *submit(*others[3:]))
    assert vectors == [pytest.approx(expected, abs=1e-5)]
    check_grammar(asked.heard)
    assert (asked.heard[-1].reason, asked.heard[-1].usage) == ("stop", Usage(prompt=11))
    assert here.runner.run(Rest()).cache_bytes == 0


def test_a_row_for_a_vector_can_be_cancelled_and_leaves_nothing(house, orders):
    vectors, asked = [], orders("v", prompt=range(3, 14), max_tokens=1)
    here = house(prefill_chunk=2)
    here.turn(for_vector(asked, "mean", vectors))
    here.turn()
    here.run_dry(Cancel("v"))
    assert vectors == []
    assert asked.heard[-1].reason == "cancelled"
    assert here.runner.run(Rest()).cache_bytes == 0


@pytest.mark.parametrize("batch", [1, 3, 16])
def test_prompts_of_one_request_say_what_each_says_alone(house, orders, batch):
    prompts = [[3, 4, 5, 6], [9, 8], [3, 4, 5, 6, 7]]
    sampling = Sampling(temperature=1.0, seed=21)
    asked = [
        orders("r", prompt=prompt, choices=2, sampling=sampling, max_tokens=6, sink=lambda _: None)
        for prompt in prompts
    ]
    heard = []
    together = [
        replace(order, choice=2 * place + order.choice, sink=heard.extend)
        for place, one in enumerate(asked)
        for order in one.orders
    ]
    # A reader tells the number of its choice, so each order gets the reader of a request with as many choices.
    readers = orders("r", choices=len(together)).orders
    together = [replace(order, reader=own.reader) for order, own in zip(together, readers, strict=True)]
    house(batch=batch, prefill_chunk=3).run_dry(Submit(tuple(together), 0.0))
    said = SimpleNamespace(heard=heard)
    for order in together:
        seed = sampling.seed + order.choice
        alone = orders(prompt=order.prompt.tokens, sampling=replace(sampling, seed=seed), max_tokens=6)
        house().run_dry(*submit(alone))
        assert text(said, order.choice) == text(alone)
    check_grammar(heard, choices=len(together))
