"""Losses and gradients are those of the plain formulas, however rows are laid out."""

import mlx.core as mx
import pytest

from mlxp_core.testing.networks import Session
from mlxp_lab.jobs import JobFailed
from mlxp_lab.training import losses
from mlxp_lab.training.examples import Example, Pair
from mlxp_lab.training.learner import Learner
from mlxp_lab.training.lora import Recipe, attach, chosen, learned, set_learned
from mlxp_lab.training.losses import token_losses
from mlxp_lab.training.objectives import Answers, Odds, Preferences, lay_out
from mlxp_lab.training.parameters import TrainParameters
from mlxp_lab.training.recompute import recompute_blocks

PARAMETERS = TrainParameters(model="", data="", optimizer="sgd", clip=None)
CLOSE = 2e-5
EXAMPLES = [
    Example((5, 9, 33, 100, 200, 7), ((2, 6),)),
    Example((8, 60, 61, 62), ((0, 4),)),
    Example((11, 12, 13, 14, 15, 16, 17, 18, 19), ((3, 5), (7, 9))),
    Example((21, 22, 23), ((1, 3),)),
]
PAIRS = [
    Pair(EXAMPLES[0], Example((5, 9, 70, 71), ((2, 4),))),
    Pair(EXAMPLES[3], Example((21, 50, 51), ((1, 3),))),
]
ONE_EACH = ((0,), (1,), (2,), (3,))


@pytest.fixture(scope="module", params=["minicpm5", "qwen35", "gemma4-e2b-text"])
def taught(request, opened):
    """A network whose terms have learned something, and what attaches to it."""
    model = opened(request.param)
    network = model.network("float32").model
    paths = chosen(network, model.family.lora_targets, None)
    chance = attach(network, paths, Recipe(rank=2, scale=2.0, dropout=0.0, seed=3))
    numbers = {
        name: array + 0.05 * mx.random.normal(array.shape, key=mx.random.key(place))
        for place, (name, array) in enumerate(learned(network).items())
    }
    set_learned(network, numbers)
    return request.param, network, chance, numbers


def surprises(network, example):
    """``-log p`` of each learned token, by the network as it is served, one row at a time."""
    logits = Session(network).read([list(example.tokens)])[0]
    said = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    places = [place for start, end in example.learned for place in range(max(1, start), end)]
    return mx.stack([-said[place - 1, example.tokens[place]] for place in places])


def slope(network, numbers, loss):
    """The gradient of a loss, and the loss."""

    def of(given):
        set_learned(network, given)
        return loss()

    value, slopes = mx.value_and_grad(of)(numbers)
    set_learned(network, numbers)
    return value, slopes


def same(one, other):
    most = max(mx.abs(array).max().item() for array in other.values())
    return all(mx.abs(one[name] - other[name]).max().item() <= 10 * CLOSE * most for name in other)


def by_learner(taught, objective, passes):
    """Loss, gradient and what else is told of one step, read off plain gradient descent."""
    _, network, chance, numbers = taught
    learner = Learner(network, chance, PARAMETERS)
    stepped = learner.step(0, 1.0, passes, objective)
    slopes = {name: numbers[name] - array for name, array in learner.numbers.items()}
    set_learned(network, numbers)
    return stepped, slopes


def test_answers_are_learned_token_by_token(taught):
    _name, network, _, numbers = taught

    def plain():
        return mx.concatenate([surprises(network, example) for example in EXAMPLES]).mean()

    stepped, slopes = by_learner(taught, Answers(EXAMPLES), [ONE_EACH])
    expected, theirs = slope(network, numbers, plain)
    assert stepped.loss == pytest.approx(expected.item(), rel=CLOSE)
    assert same(slopes, theirs)
    length = mx.sqrt(sum((array**2).sum() for array in theirs.values())).item()
    assert stepped.grad_norm == pytest.approx(length, rel=10 * CLOSE)


def test_dpo_is_its_formula(taught):
    _, network, chance, numbers = taught
    objective, batch = Preferences(PAIRS, beta=0.3), ((0,), (1,))
    chance.counts = False
    objective.ask_base(network, batch)
    base = [
        (-surprises(network, pair.chosen).sum(), -surprises(network, pair.rejected).sum()) for pair in PAIRS
    ]
    chance.counts = True

    def plain():
        losses = []
        for pair, (good, worse) in zip(PAIRS, base, strict=True):
            gained = -surprises(network, pair.chosen).sum() - good
            margin = 0.3 * (gained - (-surprises(network, pair.rejected).sum() - worse))
            losses.append(-mx.log(mx.sigmoid(margin)))
        return mx.stack(losses).mean()

    stepped, slopes = by_learner(taught, objective, [batch])
    expected, theirs = slope(network, numbers, plain)
    assert stepped.loss == pytest.approx(expected.item(), rel=10 * CLOSE)
    assert same(slopes, theirs)
    assert set(stepped.told) == {"accuracy", "margin"}


def test_orpo_is_its_formula(taught):
    _, network, _, numbers = taught

    def plain():
        losses = []
        for pair in PAIRS:
            good, worse = (-surprises(network, each).mean() for each in (pair.chosen, pair.rejected))
            odds = [mean - mx.log(1 - mx.exp(mean)) for mean in (good, worse)]
            losses.append(-good - 0.2 * mx.log(mx.sigmoid(odds[0] - odds[1])))
        return mx.stack(losses).mean()

    stepped, slopes = by_learner(taught, Odds(PAIRS, weight=0.2), [((0,), (1,))])
    expected, theirs = slope(network, numbers, plain)
    assert stepped.loss == pytest.approx(expected.item(), rel=CLOSE)
    assert same(slopes, theirs)
    assert stepped.loss == pytest.approx(stepped.told["nll"] + 0.2 * stepped.told["odds"], rel=CLOSE)


def test_passes_of_a_step_add_up_to_one_large_pass(taught):
    for objective, whole, parts in (
        (Answers(EXAMPLES), [ONE_EACH], [ONE_EACH[:1], ONE_EACH[1:]]),
        (Odds(PAIRS, 0.1), [((0,), (1,))], [((0,),), ((1,),)]),
    ):
        (large, one), (small, other) = (by_learner(taught, objective, passes) for passes in (whole, parts))
        assert small.loss == pytest.approx(large.loss, rel=CLOSE)
        assert small.told == pytest.approx(large.told, rel=CLOSE)
        assert same(other, one)


def test_rows_that_share_one_do_not_see_each_other(taught):
    name, network, *_ = taught
    shared, alone = lay_out([EXAMPLES[:3], EXAMPLES[3:]]), lay_out([[example] for example in EXAMPLES])
    if name == "qwen35":
        with pytest.raises(JobFailed, match="carry state"):
            token_losses(network, shared)
        return
    assert shared.tokens.shape[0] == 2
    found, expected = token_losses(network, shared), token_losses(network, alone)
    assert mx.abs(found - expected).max().item() <= 10 * CLOSE * mx.abs(expected).max().item()


def test_scores_are_made_in_chunks_where_there_are_many(taught, monkeypatch):
    objective = Answers(EXAMPLES)
    whole, one = by_learner(taught, objective, [ONE_EACH])
    monkeypatch.setattr(losses, "CHUNK", 5)
    chunks, other = by_learner(taught, objective, [ONE_EACH])
    assert chunks.loss == pytest.approx(whole.loss, rel=CLOSE)
    assert same(other, one)


def test_what_is_computed_again_is_the_same(taught, opened):
    """And what goes from block to block is all that is kept."""
    name, network, chance, numbers = taught
    once, one = by_learner(taught, Answers(EXAMPLES), [ONE_EACH])
    lean = opened(name).network("float32").model
    paths = chosen(lean, opened(name).family.lora_targets, None)
    attach(lean, paths, Recipe(rank=2, scale=2.0, dropout=0.0, seed=3))
    set_learned(lean, numbers)
    recompute_blocks(lean)
    again, other = by_learner((name, lean, chance, numbers), Answers(EXAMPLES), [ONE_EACH])
    assert again.loss == pytest.approx(once.loss, rel=CLOSE)
    assert same(other, one)
    long = [Example(tuple(range(5, 197)), ((2, 192),))]
    peaks = []
    for net in (network, lean):
        mx.clear_cache()
        mx.reset_peak_memory()
        before = mx.get_active_memory()
        by_learner((name, net, chance, numbers), Answers(long), [((0,),)])
        peaks.append(mx.get_peak_memory() - before)
    assert peaks[1] < 0.7 * peaks[0]


def test_a_row_with_nothing_to_learn_makes_no_pass():
    with pytest.raises(JobFailed, match="nothing to learn"):
        lay_out([[Example((1, 2), ())]])
