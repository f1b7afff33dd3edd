"""What every model family must hold to.

Subclass ``FamilySuite`` and give it ``family`` and ``tiny_config``, a config.json of a network with a few small layers.
Everything runs in float32 on random weights that are the same in every run.
"""

from collections.abc import Mapping
from typing import Any, cast

import mlx.core as mx
import pytest
from mlx import nn
from msgspec import Struct

from mlxp_core.contracts import FamilyConfig, Inputs, LanguageModel, ModelFamily, RawConfig
from mlxp_core.errors import SetupError, UnsupportedModel
from mlxp_core.kv import BatchCache, BatchPositions, PlainPolicy, policy_for
from mlxp_core.nn import ExpertStack
from mlxp_core.testing.dividing import DividingLaws
from mlxp_core.testing.learning import LearningLaws
from mlxp_core.testing.needs import NeedLaws
from mlxp_core.testing.networks import Session, load, parameters, random_parameters, renamed
from mlxp_core.testing.reuse import ReuseLaws
from mlxp_core.testing.revoking import RevokingLaws
from mlxp_core.testing.speculating import SpeculatingLaws
from mlxp_core.types import KVScheme, KVStorage

SEED = 7


class Golden(Struct, frozen=True, kw_only=True):
    """What another implementation computes from a checkpoint, in float32.

    Attributes:
        checkpoint: tensors by their name in the checkpoint.
        prompt: tokens to read.
        logits: some tokens and their logits after the prompt.
        greedy: the likeliest tokens from there on.
    """

    checkpoint: Mapping[str, mx.array]
    prompt: tuple[int, ...]
    logits: Mapping[int, float]
    greedy: tuple[int, ...]


class FamilySuite(DividingLaws, LearningLaws, NeedLaws, ReuseLaws, RevokingLaws, SpeculatingLaws):
    """Laws of families. Fixtures that have a default may be overridden where there is more to say."""

    @pytest.fixture
    def family(self) -> ModelFamily:
        """Return the family under test."""
        raise NotImplementedError("give FamilySuite a fixture `family`")

    @pytest.fixture
    def tiny_config(self) -> dict[str, Any]:
        """Return the config.json of a tiny network."""
        raise NotImplementedError("give FamilySuite a fixture `tiny_config`")

    @pytest.fixture
    def tolerance(self) -> float:
        """Return how far a logit may be off, relative to the largest one."""
        return 1e-4

    @pytest.fixture
    def parity(self) -> Golden | None:
        """Return numbers of another implementation, if there are any."""
        return None

    @pytest.fixture
    def absent_targets(self) -> frozenset[str]:
        """Return the LoRA targets that only networks of other configurations have."""
        return frozenset()

    @pytest.fixture
    def config(self, family: ModelFamily, tiny_config: RawConfig) -> FamilyConfig:
        """Return the configuration as the family reads it."""
        return family.config(tiny_config)

    @pytest.fixture
    def network(self, family: ModelFamily, config: FamilyConfig) -> LanguageModel:
        """Return a network with random weights."""
        network = family.build(config)
        load(network, random_parameters(network, SEED))
        return network

    @pytest.fixture
    def checkpoint(self, network: LanguageModel) -> Mapping[str, mx.array]:
        """Return the tensors of a checkpoint; by default, one that uses the network's own names."""
        return parameters(network)

    @pytest.fixture
    def tokens(self, network: LanguageModel) -> range:
        """Return the ids that ordinary text may have; by default, all."""
        hidden = network.embed(mx.zeros((1, 1), dtype=mx.int32))
        return range(network.logits(hidden).shape[-1])

    @pytest.fixture
    def text(self, tokens: range) -> list[int]:
        """Return 120 ordinary tokens."""
        drawn = mx.random.randint(tokens.start, tokens.stop, (120,), key=mx.random.key(SEED))
        return cast("list[int]", drawn.tolist())

    # ── Configuration and weights ───────────────────────────────────────────────────────────────────────────────

    def test_wrong_values_are_refused_as_unsupported(
        self, family: ModelFamily, tiny_config: RawConfig
    ) -> None:
        """A key of a wrong type is refused by our own error or ignored; an empty file is refused."""
        with pytest.raises(UnsupportedModel):
            family.config({})
        refused = 0
        for key in tiny_config:
            try:
                family.config({**tiny_config, key: {"no": "sense"}})
            except UnsupportedModel:
                refused += 1
        assert refused, "not one key of config.json is checked"

    def test_every_parameter_has_one_name_in_a_checkpoint(
        self,
        family: ModelFamily,
        config: FamilyConfig,
        network: LanguageModel,
        checkpoint: Mapping[str, mx.array],
    ) -> None:
        """Renamed and converted, a checkpoint is exactly the parameters."""
        shapes = {name: value.shape for name, value in parameters(network).items()}
        assert {name: value.shape for name, value in renamed(family, config, checkpoint).items()} == shapes

    def test_saved_parameters_load_again(
        self, family: ModelFamily, config: FamilyConfig, network: LanguageModel
    ) -> None:
        """The network's own names, as a quantizer saves them, mean what they say."""
        own = parameters(network)
        weights = renamed(family, config, own)
        assert weights.keys() == own.keys()
        assert all(mx.array_equal(weights[name], own[name]) for name in own)

    def test_new_files_have_names_that_are_taken_back(
        self, family: ModelFamily, tiny_config: RawConfig, network: LanguageModel
    ) -> None:
        """What MLX conversions call a tensor is the parameter that it is for."""
        mlx_name = family.mlx_name or (lambda name, _: name)
        for name in parameters(network):
            assert family.rename(mlx_name(name, tiny_config)) == name

    def test_adapters_have_modules_to_attach_to(
        self, family: ModelFamily, network: LanguageModel, absent_targets: frozenset[str]
    ) -> None:
        """Every LoRA target is the last part of some module's path."""
        names = {path.rpartition(".")[2] for path, _ in cast("nn.Module", network).named_modules()}
        assert set(family.lora_targets) - names == absent_targets

    # ── Passes ──────────────────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.parametrize("chunk", [1, 7, 64])
    def test_prefill_in_chunks_is_prefill_at_once(
        self, network: LanguageModel, text: list[int], chunk: int, tolerance: float
    ) -> None:
        """How a prompt is cut does not change a logit of it."""
        whole = Session(network).read([text])[0]
        session = Session(network)
        parts = [session.read([text[at : at + chunk]])[0] for at in range(0, len(text), chunk)]
        assert_close(mx.concatenate(parts), whole, tolerance)

    def test_a_row_of_a_batch_is_the_row_alone(
        self, network: LanguageModel, text: list[int], tolerance: float
    ) -> None:
        """Ragged prefill, ragged decoding, a row joining late and one leaving: each says what it says alone."""
        prompts = [text[:3], text[3:73], text[73:90], text[90:]]
        alone = []
        for prompt in prompts:
            session = Session(network)
            alone.append(session.greedy(session.read([prompt]), 16))
        batch, late = _rows(network, 3), Session(network)
        batch.read([prompt[:-2] for prompt in prompts[:3]])
        said, last = batch.greedy(batch.read([prompt[-2:] for prompt in prompts[:3]]), 4)
        first, late_last = late.greedy(late.read([prompts[3]]), 1)
        batch.cache.join(late.cache)
        batch.cache.keep([3, 0, 2])
        rows = [late_last[0], last[0], last[2]]
        more, last = batch.greedy([row[None] for row in rows], 12)
        heard = [first[0] + more[0], said[0] + more[1], said[2] + more[2]]
        expected = [alone[3][0][0], alone[0][0][0], alone[2][0][0]]
        assert heard == [tokens[: len(row)] for tokens, row in zip(expected, heard, strict=True)]
        assert_close(last[1], alone[0][1][0], tolerance)
        assert_close(last[2], alone[2][1][0], tolerance)

    def test_a_row_may_sit_a_pass_out(
        self, network: LanguageModel, text: list[int], tolerance: float
    ) -> None:
        """A row without tokens in a pass, an empty one even, goes on as if there had been no pass."""
        expected = Session(network).read([text[:20]])[0]
        session = _rows(network, 2)
        session.read([[], text[20:60]])
        parts = [session.read([text[:12], []])[0]]
        session.read([[], text[60:61]])
        parts.append(session.read([text[12:20], text[61:62]])[0])
        assert_close(mx.concatenate(parts), expected, tolerance)

    def test_going_back_is_never_having_been_there(
        self, network: LanguageModel, text: list[int], tolerance: float
    ) -> None:
        """After a trim that was granted, or refused, the row goes on from where it then stands."""
        session = Session(network)
        session.read([text[:40]])
        session.read([text[60:65]])
        gone_back = session.cache.trim(0, 5)
        heard = session.read([text[40:50]])[0]
        before = text[:40] if gone_back else [*text[:40], *text[60:65]]
        assert_close(heard, Session(network).read([before + text[40:50]])[0][-10:], tolerance)

    def test_thawing_goes_on_from_the_same_bits(self, network: LanguageModel, text: list[int]) -> None:
        """A snapshot outlives what the row did later, and can be thawed more than once."""
        session = Session(network)
        session.read([text[:40]])
        snapshot = session.cache.freeze(0)
        expected = session.read([text[40:47]])[0]
        session.read([text[50:60]])
        for _ in range(2):
            thawed = Session(network)
            thawed.cache = thawed.cache.thaw(snapshot)
            assert mx.array_equal(thawed.read([text[40:47]])[0], expected)

    def test_looked_up_embeddings_change_nothing(self, network: LanguageModel, text: list[int]) -> None:
        """``embed`` looks tokens up as a pass without embeddings does."""
        tokens = mx.array([text[:9]], dtype=mx.int32)
        hidden = []
        for embeddings in (None, network.embed(tokens)):
            cache = BatchCache(network.make_caches(PlainPolicy(mx.float32)))
            inputs = Inputs(tokens=tokens, at=BatchPositions([0], [9], 9), embeddings=embeddings)
            hidden.append(network(inputs, cache.layers))
        assert mx.array_equal(hidden[0], hidden[1])

    def test_a_quantized_network_runs(self, network: LanguageModel, text: list[int]) -> None:
        """In 8 bits, most tokens get nearly the same scores; near a tie, a router may send one elsewhere."""
        before = Session(network).read([text])[0]
        nn.quantize(cast("nn.Module", network), group_size=32, bits=8, class_predicate=_quantizable)
        after = Session(network).read([text])[0]
        off = mx.abs(after - before).max(axis=-1) / mx.abs(before).max()
        assert mx.sort(off)[len(text) // 2] <= 0.2, (
            "most tokens are off by more than a fifth of the largest logit"
        )

    def test_quantized_keys_and_values_are_nearly_as_good(
        self, network: LanguageModel, text: list[int]
    ) -> None:
        """In 8 bits, most tokens get nearly the same scores, and a row of a batch says what it says alone."""
        try:
            policy, _ = policy_for(network, KVScheme(uniform=KVStorage(8, 64)), mx.float32)
        except SetupError as error:
            pytest.skip(f"too small a head to quantize: {error.message}")
        plain, alone = Session(network).read([text])[0], Session(network, policy=policy)
        logits = alone.read([text])
        off = mx.abs(logits[0] - plain).max(axis=-1) / mx.abs(plain).max()
        assert mx.sort(off)[len(text) // 2] <= 0.1, "most tokens are off by a tenth of the largest logit"
        batch = Session(network, policy=policy)
        batch.read([text[:30]])
        batch.cache.join(Session(network, policy=policy).cache)
        said, _ = batch.greedy(batch.read([text[30:], text[:9]]), 8)
        assert said[0] == alone.greedy(logits, 8)[0][0]

    def test_numbers_equal_another_implementations(
        self, family: ModelFamily, config: FamilyConfig, parity: Golden | None, tolerance: float
    ) -> None:
        """Logits after a prompt, and the tokens that follow."""
        if parity is None:
            pytest.skip("no golden numbers: give FamilySuite a fixture `parity`")
        network = family.build(config)
        load(network, renamed(family, config, parity.checkpoint))
        session = Session(network)
        logits = session.read([parity.prompt])
        found = mx.array([logits[0][-1, token] for token in parity.logits])
        assert_close(found, mx.array(list(parity.logits.values())), tolerance)
        assert session.greedy(logits, len(parity.greedy))[0] == [list(parity.greedy)]


def assert_close(found: mx.array, expected: mx.array, tolerance: float) -> None:
    """Assert that nothing is off by more than ``tolerance`` times the largest value."""
    assert found.shape == expected.shape
    off = mx.abs(found - expected).max() / mx.abs(expected).max()
    assert off <= tolerance, f"off by {off} of the largest value, more than {tolerance}"


def _rows(network: LanguageModel, count: int) -> Session:
    session = Session(network)
    for _ in range(count - 1):
        session.cache.join(Session(network).cache)
    return session


def _quantizable(_path: str, module: nn.Module) -> bool:
    match module:
        case nn.Linear() | nn.Embedding() | ExpertStack():
            return bool(module.weight.shape[-1] % 32 == 0)
        case _:
            return False
