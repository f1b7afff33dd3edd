"""The law of divided networks, itself on trial: it holds for a right division, and for no wrong one."""

import pytest
from mlx import nn
from msgspec import Struct
from msgspec.structs import replace

from mlxp_core.contracts import Cut, Division, ModelFamily, share
from mlxp_core.nn import GatedFeedForward
from mlxp_core.testing.dividing import DividingLaws
from mlxp_core.testing.networks import load, parameters, random_parameters
from mlxp_core.types import Need


class Sizes(Struct, frozen=True):
    vocabulary: int
    inner: int


class Net(nn.Module):
    """A table, a feed-forward layer with biases, and the table again as a head."""

    def __init__(self, sizes):
        super().__init__()
        self.table = nn.Embedding(sizes.vocabulary, 8)
        self.mlp = GatedFeedForward(8, sizes.inner, "silu", bias=True)

    def __call__(self, inputs, caches):
        x = self.table(inputs.tokens)
        return x + self.mlp(x)

    def logits(self, hidden):
        return self.table.as_linear(hidden)

    def embed(self, tokens):
        return self.table(tokens)

    def make_caches(self, policy):
        return []


def divided(sizes, ranks):
    return Division(
        config=Sizes(sizes.vocabulary // ranks, share(sizes.inner, ranks, "inner")),
        cuts={
            "gate_proj": Cut("outputs"),
            "up_proj": Cut("outputs"),
            "down_proj": Cut("inputs"),
            "table": Cut("outputs"),
        },
        sums=("mlp",),
        tables=("table",),
    )


def hold(divide, sizes, ranks=2):
    """Hold a division to the law."""
    family = ModelFamily(
        name="net",
        model_types=("net",),
        config=lambda raw: sizes,
        build=Net,
        rename=lambda name: name,
        need=lambda config, value_bytes: Need(),
        divide=divide,
    )
    network = Net(sizes)
    load(network, random_parameters(network, 3))
    text = [number % sizes.vocabulary for number in range(7, 47)]
    return lambda tmp_path: DividingLaws().test_parts_together_are_the_whole(
        family, sizes, network, parameters(network), ranks=ranks, text=text, tolerance=1e-5, tmp_path=tmp_path
    )


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_right_division_holds(tmp_path, ranks):
    hold(divided, Sizes(30, 6), ranks)(tmp_path)


def changed(**more):
    """Return a division in which something is otherwise."""

    def divide(sizes, ranks):
        right = divided(sizes, ranks)
        return replace(right, **{name: value(getattr(right, name)) for name, value in more.items()})

    return divide


@pytest.mark.parametrize(
    "wrong",
    [
        changed(sums=lambda _: ()),
        changed(sums=lambda _: ("mlp", "down_proj")),
        changed(tables=lambda _: ()),
        changed(cuts=lambda cuts: {**cuts, "gate_proj": Cut("outputs", (2, 4))}),
        changed(cuts=lambda cuts: {**cuts, "down_proj": Cut("outputs")}),
        changed(cuts=lambda cuts: {name: cut for name, cut in cuts.items() if name != "up_proj"}),
        changed(config=lambda config: replace(config, inner=config.inner * 2)),
    ],
    ids=["no sum", "two sums", "no table", "other runs", "wrong axis", "not cut", "other sizes"],
)
def test_no_wrong_division_does(tmp_path, wrong):
    with pytest.raises((AssertionError, ValueError)):
        hold(wrong, Sizes(30, 6))(tmp_path)


def test_what_is_refused_must_say_among_how_many(tmp_path):
    with pytest.raises(pytest.skip.Exception, match="inner 5 cannot be divided among 2 ranks"):
        hold(divided, Sizes(30, 5))(tmp_path)


def test_a_family_that_does_not_divide_is_left_alone(tmp_path):
    with pytest.raises(pytest.skip.Exception, match="not divided"):
        hold(None, Sizes(30, 6))(tmp_path)
