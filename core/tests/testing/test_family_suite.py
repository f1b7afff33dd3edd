"""The family suite holds a recurrent family to its laws, and catches broken ones."""

import mlx.core as mx
import pytest
from mlx import nn
from msgspec import Struct, ValidationError, convert

from mlxp_core.contracts import ModelFamily
from mlxp_core.errors import UnsupportedModel
from mlxp_core.testing.family import SEED, FamilySuite
from mlxp_core.testing.networks import load, random_parameters
from mlxp_core.types import Need

HIDDEN, VOCABULARY = 32, 61
TEXT = [7 * i % VOCABULARY for i in range(120)]


class FadingConfig(Struct):
    hidden_size: int
    vocab_size: int


class Fading(nn.Module):
    """A recurrence ``s = s / 2 + x``, and a head over it."""

    def __init__(self, config):
        super().__init__()
        self.table = nn.Embedding(config.vocab_size, config.hidden_size)
        self.head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def __call__(self, inputs, caches):
        x = self.embed(inputs.tokens) if inputs.embeddings is None else inputs.embeddings
        (state,), said = caches[0].state, []
        for step in range(inputs.at.width):
            state = self.stepped(state, x[:, step], self.real(inputs, step))
            said.append(state)
        caches[0].state = (state,)
        return mx.stack(said, axis=1)

    def real(self, inputs, step):
        return True if inputs.at.valid is None else inputs.at.valid[:, step, None]

    def stepped(self, state, x, real):
        return mx.where(real, state / 2 + x, state)

    def embed(self, tokens):
        return self.table(tokens)

    def logits(self, hidden):
        return self.head(hidden)

    def make_caches(self, policy):
        return [policy.state(0, [(HIDDEN,)], [mx.float32])]


def read(raw):
    try:
        return convert(raw, FadingConfig)
    except ValidationError as error:
        raise UnsupportedModel(f"fading: {error}") from error


def need(config, value_bytes):
    return Need(
        weights=2 * config.hidden_size * config.vocab_size * value_bytes, fixed=4 * config.hidden_size
    )


CONFIG = {"hidden_size": HIDDEN, "vocab_size": VOCABULARY}
FADING = ModelFamily(
    name="fading",
    model_types=("fading",),
    config=read,
    build=Fading,
    rename=str,
    need=need,
    lora_targets=("head",),
)


class TestFading(FamilySuite):
    @pytest.fixture
    def family(self):
        return FADING

    @pytest.fixture
    def tiny_config(self):
        return CONFIG


class MindsPadding(Fading):
    """Broken: padding changes the state."""

    def real(self, inputs, step):
        return True


class Forgetful(Fading):
    """Broken: the state does not outlive a pass."""

    def __call__(self, inputs, caches):
        hidden = super().__call__(inputs, caches)
        caches[0].state = (mx.zeros_like(caches[0].state[0]),)
        return hidden


class Scaled(Fading):
    """Broken: ``embed`` is not what a pass looks up."""

    def embed(self, tokens):
        return 2 * self.table(tokens)

    def __call__(self, inputs, caches):
        embeddings = self.table(inputs.tokens) if inputs.embeddings is None else inputs.embeddings
        at = type(inputs)(tokens=inputs.tokens, at=inputs.at, embeddings=embeddings)
        return super().__call__(at, caches)


class Cut(Fading):
    """Broken: what the head says cannot be traced back."""

    def logits(self, hidden):
        return mx.stop_gradient(self.head(hidden))


def broken(kind):
    network = kind(read(CONFIG))
    load(network, random_parameters(network, SEED))
    return network


def test_padding_that_is_minded_is_caught():
    with pytest.raises(AssertionError):
        FamilySuite().test_a_row_of_a_batch_is_the_row_alone(broken(MindsPadding), TEXT, 1e-4)
    with pytest.raises(AssertionError):
        FamilySuite().test_a_row_may_sit_a_pass_out(broken(MindsPadding), TEXT, 1e-4)


def test_state_that_is_lost_is_caught():
    with pytest.raises(AssertionError):
        FamilySuite().test_prefill_in_chunks_is_prefill_at_once(broken(Forgetful), TEXT, 7, 1e-4)


def test_another_lookup_is_caught():
    with pytest.raises(AssertionError):
        FamilySuite().test_looked_up_embeddings_change_nothing(broken(Scaled), TEXT)


def with_field(**changes):
    fields = {name: getattr(FADING, name) for name in FADING.__struct_fields__}
    return ModelFamily(**{**fields, **changes})


@pytest.mark.parametrize("wrong", [Need(), need(read(CONFIG), 2), Need(weights=15616, fixed=999)])
def test_a_wrong_need_is_caught(wrong):
    family = with_field(need=lambda _config, _bytes: wrong)
    with pytest.raises(AssertionError):
        FamilySuite().test_need_is_what_is_measured(family, read(CONFIG), broken(Fading), TEXT)


@pytest.mark.parametrize(
    "rename", [lambda _name: "table.weight", lambda name: f"model.{name}", lambda _: None]
)
def test_a_wrong_name_is_caught(rename):
    with pytest.raises(AssertionError):
        FamilySuite().test_saved_parameters_load_again(
            with_field(rename=rename), read(CONFIG), broken(Fading)
        )


def test_a_way_that_is_cut_is_caught():
    with pytest.raises(AssertionError, match="no slope"):
        FamilySuite().test_its_terms_can_be_learned(with_field(lora_targets=("head",)), broken(Cut), TEXT)
    FamilySuite().test_its_terms_can_be_learned(with_field(lora_targets=("head",)), broken(Fading), TEXT)


def test_an_adapter_target_without_a_module_is_caught():
    with pytest.raises(AssertionError):
        FamilySuite().test_adapters_have_modules_to_attach_to(
            with_field(lora_targets=("q_proj",)), broken(Fading), frozenset()
        )


@pytest.mark.parametrize("reader", [lambda raw: raw, lambda raw: FadingConfig(**raw)])
def test_a_careless_reader_is_caught(reader):
    with pytest.raises((pytest.fail.Exception, TypeError)):
        FamilySuite().test_wrong_values_are_refused_as_unsupported(with_field(config=reader), CONFIG)
