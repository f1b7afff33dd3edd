"""What guesses is loaded with its model, or refused by name."""

import mlx.core as mx
import pytest
from mlx import nn
from msgspec.structs import replace

from mlxp_core.contracts import DraftHead
from mlxp_core.engine.orders import LoadPlan
from mlxp_core.engine.speculation.drafters import HeadDrafter, ModelDrafter
from mlxp_core.engine.speculation.drafting import load_drafter
from mlxp_core.errors import ModelFolderError
from mlxp_core.loading.network import load_network
from mlxp_core.types import Need


class Guess(nn.Module):
    """A head with one matrix and, if it is to be, a state that it never remembers."""

    def __init__(self, config, *, forgets):
        super().__init__()
        self.spare = nn.Linear(3, 3, bias=False)
        self._width, self._forgets = config.hidden_size, forgets

    def __call__(self, inputs, hidden, caches):
        for cache in caches:
            cache.state = (cache.state[0] + hidden.sum(axis=1),)
        return hidden + inputs.embeddings

    def make_caches(self, policy):
        return [policy.state(0, [(self._width,)], [mx.float32])] if self._forgets else []


@pytest.fixture
def plan(pair, opened):
    """A plan of a model whose spare tensor is a head's."""

    def make(*, forgets=False, **more):
        head = DraftHead(
            name="guess",
            build=lambda config: Guess(config, forgets=forgets),
            rename=lambda name: name if name.startswith("spare.") else None,
            need=lambda config, item: Need(),
        )
        family = replace(pair, draft_head=head)
        return LoadPlan(folder=opened, family=family, config=family.config(opened.config), **more)

    return make


def loaded(plan):
    network = load_network(plan.folder, plan.family, plan.config)
    return load_drafter(plan, network, lambda done, total: None)


def test_a_plan_says_what_guesses(plan):
    assert loaded(plan()) is None
    assert isinstance(loaded(plan(head=True)), HeadDrafter)
    assert isinstance(loaded(plan(draft=plan())), ModelDrafter)


def test_a_head_that_cannot_go_back_is_refused(plan):
    with pytest.raises(ModelFolderError, match="cannot take back"):
        loaded(plan(head=True, forgets=True))


def test_a_head_that_is_not_there_is_refused(plan, pair):
    without = plan(head=True)
    with pytest.raises(ModelFolderError, match="holds no draft head"):
        loaded(LoadPlan(folder=without.folder, family=pair, config=without.config, head=True))
