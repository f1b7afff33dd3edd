"""Guessing changes when tokens are said, and nothing else: not one token, score, reason or number of them."""

import random
from itertools import pairwise

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx import nn
from msgspec import Raw, Struct
from msgspec.structs import replace

from mlxp_core.contracts import SamplerStage
from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import Cancel, Submit
from mlxp_core.engine.origins import Origin
from mlxp_core.engine.past import Past
from mlxp_core.engine.runner import BatchRunner
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.shelf import Shelf
from mlxp_core.engine.speculation.drafters import HeadDrafter, ModelDrafter
from mlxp_core.engine.steps import Decode
from mlxp_core.kv import BatchCache, forward, policy_for
from mlxp_core.loading.network import Network
from mlxp_core.promptcache.tiers import Tiers
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.testing.networks import load, random_parameters
from mlxp_core.types import EngineSettings, Failed, KVScheme, KVStorage, Sampling, Scored, TextDelta

VOCABULARY, HIDDEN, HEADS, WINDOW = 48, 64, 2, 7
PLAIN = KVScheme()
DIM = HIDDEN // HEADS


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)

    def __call__(self, x, at, cache):
        rows, width, _ = x.shape
        split = self.qkv(x).reshape(rows, width, 3 * HEADS, -1).swapaxes(1, 2)
        q, k, v = (split[:, part * HEADS : (part + 1) * HEADS] for part in range(3))
        q, k = (
            mx.fast.rope(x, DIM, traditional=False, base=1e4, scale=1.0, offset=at.offset) for x in (q, k)
        )
        attended = cache.attend(q, k, v, at, scale=DIM**-0.5)
        return self.out(attended.swapaxes(1, 2).reshape(rows, width, HIDDEN))


class Echo(nn.Module):
    """A recurrent layer: a decaying sum of all inputs so far."""

    def __init__(self, *, forgets):
        super().__init__()
        self._forgets = forgets

    def __call__(self, x, at, cache):
        (before,) = cache.state
        sums = [before]
        for place in range(at.width):
            new = 0.5 * sums[-1] + x[:, place]
            sums.append(new if at.valid is None else mx.where(at.valid[:, place, None], new, sums[-1]))
        cache.state = (sums[-1],)
        if at.revocable and not self._forgets:
            cache.remember(at, lambda counts: (mx.stack(sums, axis=1)[mx.arange(len(at)), counts],))
        return mx.stack(sums[1:], axis=1)


class Tiny(nn.Module):
    """One layer of each kind of cache."""

    def __init__(self, *, forgets=False):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.full, self.sliding, self.echo = Attention(), Attention(), Echo(forgets=forgets)
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
        return [policy.full(0), policy.sliding(1, WINDOW), policy.state(2, [(HIDDEN,)], [mx.float32])]


class Head(nn.Module):
    """A draft head of one block."""

    def __init__(self):
        super().__init__()
        self.join = nn.Linear(2 * HIDDEN, HIDDEN, bias=False)
        self.attention = Attention()

    def __call__(self, inputs, hidden, caches):
        x = self.join(mx.concatenate([inputs.embeddings, hidden], axis=-1))
        return x + self.attention(x, inputs.at, *caches)

    def make_caches(self, policy):
        return [policy.full(0)]


def made(scheme=PLAIN, seed=3, **kind):
    model = Tiny(**kind)
    load(model, random_parameters(model, seed))
    policy, kv = policy_for(model, scheme, mx.float32)
    return Network(model=model, policy=policy, kv=kv, vocabulary=VOCABULARY, weight_bytes=0)


def with_head():
    network, head = made(), Head()
    load(head, random_parameters(head, 5))
    return replace(network, drafter=HeadDrafter(network.model, head))


def with_model(**other):
    return replace(made(), drafter=ModelDrafter(made(**other), vocabulary=VOCABULARY))


EIGHT = KVScheme(uniform=KVStorage(8, 32))
KINDS = {
    "looking up": made,
    "looking up, 8 bits": lambda: made(EIGHT),
    "a head": with_head,
    "a twin": with_model,
    "a stranger": lambda: with_model(seed=4),
}
LOOKING_UP = list(KINDS)[:2]


@pytest.fixture(scope="module", params=KINDS)
def network(request):
    return KINDS[request.param]()


class House:
    """Scheduler and device runner with a prompt cache, turned by hand."""

    def __init__(self, network, clock, *, stages=(), guessing=True, **engine):
        if guessing:
            how = {"speculate": "lookup"} if network.drafter is None else {"draft_model": "another"}
        else:
            how, network = {}, replace(network, drafter=None)
        shelf = Shelf({"m": None}, halted=lambda: False, load=lambda *_: network)
        chosen = EngineSettings(**{"prompt_cache_bytes": 0, **how, **engine})
        past = Past(shelf, tiers=Tiers(chosen.prompt_cache_bytes), origin=Origin, chunk=chosen.prefill_chunk)
        self.runner = BatchRunner(shelf, {stage.name: stage for stage in stages}, clock, past)
        self.scheduler = Scheduler(["m"], chosen, clock)
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
        self.turn()


@pytest.fixture(scope="module")
def house(network, clocks):
    return lambda **engine: House(network, clocks(), **engine)


def submit(*asked):
    return [Submit(one.orders, 0.0) for one in asked]


def text(asked):
    return "".join(event.text for event in asked.heard if isinstance(event, TextDelta))


def told(asked):
    """Return all that must not depend on guesses."""
    scored = [event for event in asked.heard if isinstance(event, Scored)]
    names = [(event.chosen.text, [rival.text for rival in event.top]) for event in scored]
    last = asked.heard[-1]
    return text(asked), names, last.reason, last.stop, replace(last.usage, guessed=0, accepted=0, cached=0)


def numbers(asked):
    """Return the log-probabilities that were told; a wider pass may round them otherwise."""
    scored = (event for event in asked.heard if isinstance(event, Scored))
    return [score.logprob for event in scored for score in (event.chosen, *event.top)]


class Every(Struct):
    """A constraint: multiples of ``step`` alone, and never the end."""

    step: int

    def allowed(self):
        bits = bytearray(-(-VOCABULARY // 8))
        for token in range(self.step, VOCABULARY, self.step):
            bits[token // 8] |= 1 << token % 8
        return bytes(bits)

    def advance(self, token):
        assert token % self.step == 0

    @property
    def done(self):
        return False


SAMPLINGS = st.builds(
    Sampling,
    seed=st.integers(0, 9),
    temperature=st.sampled_from([0.0, 0.0, 0.3, 1.0]),
    top_p=st.sampled_from([None, 0.8]),
    repetition_penalty=st.sampled_from([None, None, 1.1]),
    presence_penalty=st.sampled_from([0.0, 0.0, 0.3]),
    logit_bias=st.sampled_from([{}, {0: -100.0}, {5: 3.0}]),
)
PROMPTS = st.lists(st.integers(1, VOCABULARY - 1), min_size=1, max_size=12).map(lambda part: (part * 9)[:30])
ASKED = st.fixed_dictionaries(
    {
        "prompt": PROMPTS,
        "sampling": SAMPLINGS,
        "max_tokens": st.integers(1, 40),
        "top_scores": st.sampled_from([None, None, 2]),
        "stop": st.sampled_from([(), (), ("7 ",), ("3 4", "1")]),
        "constraints": st.sampled_from([(), (), (), (3,)]),
        "choices": st.just(1),
    }
)


@settings(max_examples=15, deadline=None)
@given(
    asked=st.lists(ASKED, min_size=1, max_size=5),
    batch=st.integers(1, 5),
    chunk=st.sampled_from([3, 100]),
    most=st.integers(1, 16),
)
def test_rows_say_what_they_say_without_guesses(house, orders, asked, batch, chunk, most):
    answers, scores = [], []
    for guessing in (False, True):
        requests = [
            orders(f"r{number}", **{**one, "constraints": [Every(step) for step in one["constraints"]]})
            for number, one in enumerate(asked)
        ]
        here = house(batch=batch, prefill_chunk=chunk, guessing=guessing, speculate_tokens=most)
        here.run_dry(*submit(*requests))
        answers.append([told(one) for one in requests])
        scores.append([number for one in requests for number in numbers(one)])
        for one in requests:
            check_grammar(one.heard)
            usage = one.heard[-1].usage
            assert 0 <= usage.accepted <= usage.guessed
            assert usage.accepted < usage.completion
    assert answers[0] == answers[1]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)


def looping(orders, name="r", **more):
    """Ask for an answer that repeats itself."""
    known = {"max_tokens": 60, "sampling": Sampling(temperature=0.0, seed=1, logit_bias={0: -100.0, 5: 9.0})}
    return orders(name, **{"prompt": [5, 6, 7] * 5, **known, **more})


@pytest.mark.parametrize("network", [*LOOKING_UP, "a twin"], indirect=True)
def test_what_repeats_itself_takes_fewer_steps(house, orders):
    asked, here = [looping(orders, f"r{number}") for number in range(3)], house()
    here.run_dry(*submit(*asked))
    assert sum(isinstance(step, Decode) for step in here.steps) < 40
    for one in asked:
        usage = one.heard[-1].usage
        assert usage.completion == 60
        assert usage.accepted > 30
    stats = here.scheduler.snapshot()
    assert stats.accepted_tokens == sum(one.heard[-1].usage.accepted for one in asked)
    assert stats.guessed_tokens == sum(one.heard[-1].usage.guessed for one in asked)


def test_nothing_is_guessed_where_nobody_wants_it_or_the_network_cannot_go_back(clocks, orders):
    for network, engine in ((made(), {"guessing": False}), (made(forgets=True), {})):
        asked, here = looping(orders), House(network, clocks(), **engine)
        here.run_dry(*submit(asked))
        assert asked.heard[-1].usage.guessed == 0
        assert asked.heard[-1].usage.completion == 60


def test_an_end_among_right_guesses_leaves_a_row_that_can_be_gone_on_from(house, orders):
    """The next turn of the conversation finds the whole answer in the prompt cache, as it does without guesses."""
    cached = []
    for guessing in (False, True):
        here = house(prompt_cache_bytes=2**24, prefill_chunk=16, guessing=guessing)
        first = looping(orders, "one", max_tokens=41)
        here.run_dry(*submit(first))
        said = [int(word) for word in text(first).split()]
        again = looping(orders, "two", prompt=[*[5, 6, 7] * 5, *said, 9, 10], max_tokens=8)
        here.run_dry(*submit(again))
        alone = looping(orders, "three", prompt=[*[5, 6, 7] * 5, *said, 9, 10], max_tokens=8)
        house(guessing=False).run_dry(*submit(alone))
        assert told(again) == told(alone)
        cached.append(again.heard[-1].usage.cached)
    assert cached[0] == cached[1] == 15 + 40


@pytest.mark.parametrize("at", [3, 9, 14])
def test_who_leaves_in_the_middle_leaves_the_others_alone(house, orders, at):
    staying, leaving, alone = (looping(orders, name) for name in ("staying", "leaving", "alone"))
    here = house()
    here.turn(*submit(staying, leaving))
    for _ in range(at):
        here.turn()
    here.run_dry(Cancel("leaving"))
    house(guessing=False).run_dry(*submit(alone))
    assert told(staying) == told(alone)
    assert leaving.heard[-1].reason == "cancelled"
    assert text(alone).startswith(text(leaving))


class Brittle(Struct, frozen=True):
    """Settings of a stage that breaks."""

    with_guesses: bool = False
    after: int = 10**9


def brittle():
    """Return a stage that breaks at the first guess, or for good after so many calls."""

    def build(rows):
        def shape(logits):
            calls.append(len(rows))
            if (rows[0].with_guesses and len(rows) > 1) or len(calls) > rows[0].after:
                raise RuntimeError("a stage broke")
            return logits

        return shape

    calls = []
    return SamplerStage(name="brittle", order=300, params=Brittle, build=build)


@pytest.mark.parametrize(("asked", "fails"), [(b'{"after": 6}', True), (b'{"with_guesses": true}', False)])
def test_a_stage_that_breaks_at_guesses_is_asked_once_more_without(network, clocks, orders, asked, fails):
    sampling = Sampling(
        temperature=0.0, seed=1, logit_bias={0: -100.0, 5: 9.0}, stages={"brittle": Raw(asked)}
    )
    well, alone = looping(orders, "well"), looping(orders, "alone")
    broken = looping(orders, "broken", sampling=sampling)
    House(network, clocks(), stages=[brittle()]).run_dry(*submit(broken, well))
    House(network, clocks(), guessing=False).run_dry(*submit(alone))
    assert told(well) == told(alone)
    assert isinstance(broken.heard[-1], Failed) == fails
    assert fails or text(broken) == text(alone)


@pytest.mark.parametrize("network", LOOKING_UP, indirect=True)
def test_a_random_text_is_hardly_guessed(house, orders):
    dice = random.Random(1)
    asked = orders(
        prompt=[dice.randrange(1, VOCABULARY) for _ in range(400)],
        max_tokens=300,
        sampling=Sampling(temperature=5.0, seed=3, logit_bias={0: -100.0}),
    )
    here = house()
    here.run_dry(*submit(asked))
    assert sum(bool(step.guesses) for step in here.steps if isinstance(step, Decode)) <= 6


class Reader:
    """Rows of a network with a drafter, and beside it what each row has read."""

    def __init__(self, network, prompt, cuts):
        self.network, self.texts = network, [list(prompt)]
        self.cache = BatchCache(network.model.make_caches(network.policy), drafter=network.drafter)
        for start, end in pairwise(sorted({0, len(prompt), *(cut for cut in cuts if cut < len(prompt))})):
            self.read([prompt[start:end]])

    def read(self, rows, *, revocable=False):
        width = max(map(len, rows))
        tokens = mx.array([[*row, *[0] * (width - len(row))] for row in rows], dtype=mx.int32)
        counts = [len(row) for row in rows]
        forward(self.network.model, self.cache, tokens, counts=counts, revocable=revocable)

    def join(self, other):
        self.cache.join(other.cache)
        self.texts += other.texts

    def say(self, dice):
        """Read one token of each row and some guesses, and go back into these."""
        new = [[dice.randrange(VOCABULARY) for _ in range(dice.randint(1, 9))] for _ in self.texts]
        self.read(new, revocable=True)
        for row, tokens in enumerate(new):
            kept = dice.randint(1, len(tokens))
            assert self.cache.trim(row, len(tokens) - kept)
            self.texts[row] += tokens[:kept]

    def move(self, dice):
        """Put the rows into another order, and freeze and thaw one of them."""
        order = dice.sample(range(len(self.texts)), len(self.texts))
        frozen = self.cache.freeze(order[0])
        self.cache.keep(order[1:] or order)
        thawed = BatchCache(self.network.model.make_caches(self.network.policy), drafter=self.network.drafter)
        if order[1:]:
            self.cache.join(thawed.thaw(frozen))
            order = [*order[1:], order[0]]
        self.texts = [self.texts[row] for row in order]

    def guesses(self, count=3):
        scores = []

        def draw(logits):
            scores.append(logits)
            return tokens + len(scores)  # a near tie must not decide what comes next

        tokens = mx.array([text[0] % 40 for text in self.texts], dtype=mx.int32)
        self.network.drafter.ahead(self.cache, tokens, count, draw)
        return mx.stack(scores, axis=1)


@settings(max_examples=12, deadline=None)
@given(
    prompts=st.lists(
        st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=30), min_size=1, max_size=3
    ),
    cuts=st.lists(st.integers(1, 29), max_size=3),
    doings=st.lists(st.sampled_from(["say", "guess", "move"]), max_size=6),
    seed=st.integers(0, 99),
)
@pytest.mark.parametrize("kind", ["a head", "a stranger"])
def test_a_drafter_guesses_as_if_it_had_read_all_at_once(kind, prompts, cuts, doings, seed):
    network, dice = KINDS[kind](), random.Random(seed)
    rows = Reader(network, prompts[0], cuts)
    for prompt in prompts[1:]:
        rows.join(Reader(network, prompt, cuts))
    for doing in doings:
        match doing:
            case "say":
                rows.say(dice)
            case "guess":
                mx.eval(rows.guesses())
            case "move":
                rows.move(dice)
    alone = [Reader(network, text, ()).guesses() for text in rows.texts]
    assert mx.allclose(rows.guesses(), mx.concatenate(alone), atol=1e-3)
