"""Rows that guess ahead say what they say without, whatever their network keeps."""

import random
from collections.abc import Mapping, Sequence
from typing import cast

import mlx.core as mx
import pytest
from msgspec.structs import replace

from mlxp_core.contracts import LanguageModel
from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import LoadPlan, Order, Submit
from mlxp_core.engine.runner import BatchRunner
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.shelf import Shelf
from mlxp_core.engine.speculation.drafters import ModelDrafter
from mlxp_core.engine.steps import Decode
from mlxp_core.errors import SetupError
from mlxp_core.kv import policy_for
from mlxp_core.loading.network import Network
from mlxp_core.prompting import Prompt
from mlxp_core.reading import Reader
from mlxp_core.types import (
    EngineSettings,
    Event,
    Finished,
    GenerateRequest,
    KVScheme,
    KVStorage,
    Sampling,
    TextDelta,
    Usage,
)

MODEL = "m"
LENGTH = 40
ROWS = 3
SCHEMES = {"plain": KVScheme(), "8 bits": KVScheme(uniform=KVStorage(8, 32))}
PULL = 30.0
"""Added to the scores of a few tokens, so that answers repeat them; one gets it twice, and repeats itself."""


class _Numbers:
    """A tokenizer whose tokens are numbers with a space behind."""

    def __init__(self) -> None:
        self.added_tokens: Mapping[int, str] = {}
        self.special_tokens: Mapping[int, str] = {}

    def token_id(self, text: str) -> int | None:  # noqa: ARG002  # none has a name
        return None

    def token_bytes(self, token: int) -> bytes:
        return f"{token} ".encode()

    def decode(self, tokens: Sequence[int], *, special: bool = True) -> str:  # noqa: ARG002  # none is special
        return "".join(f"{token} " for token in tokens)


class SpeculatingLaws:
    """Laws of speculation, for suites with the fixtures ``network`` and ``text``."""

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_guessing_changes_nothing_that_is_said(
        self, network: LanguageModel, text: list[int], scheme: str
    ) -> None:
        """Greedy or not, with penalties or without, looked up or by a drafter, beside rows that cannot guess."""
        try:
            policy, kv = policy_for(network, SCHEMES[scheme], mx.float32)
        except SetupError as error:
            pytest.skip(f"too small a head to quantize: {error.message}")
        if not kv.revocable:
            pytest.skip("a layer of state does not remember its passes: such a network does not speculate")
        vocabulary = network.logits(network.embed(mx.zeros((1, 1), dtype=mx.int32))).shape[-1]
        held = Network(model=network, policy=policy, kv=kv, vocabulary=vocabulary, weight_bytes=0)
        twin = replace(held, drafter=ModelDrafter(held, vocabulary=vocabulary))
        without = [said for said, _ in _answers(held, text)]
        for guessing in (_answers(held, text, speculate="lookup"), _answers(twin, text, draft_model="twin")):
            assert [said for said, _ in guessing] == without
            assert sum(usage.accepted for _, usage in guessing), "not one guess was right: nothing was tried"


def _answers(network: Network, text: Sequence[int], **how: str) -> list[tuple[str, Usage]]:
    """Return what each row says, and what it used."""
    settings = EngineSettings(batch=ROWS, prompt_cache_bytes=0, **how)  # type: ignore[arg-type]
    shelf = Shelf({MODEL: cast("LoadPlan", None)}, halted=lambda: False, load=lambda *_: network)
    runner = BatchRunner(shelf, {})
    steps = 0.0  # the clock of a device that takes one second a step, however wide
    scheduler = Scheduler([MODEL], settings, lambda: steps)
    heard: list[list[Event]] = [[] for _ in range(ROWS)]
    orders = [_order(row, text, events) for row, events in enumerate(heard)]
    scheduler.apply([Submit((order,), 0.0) for order in orders])
    while not scheduler.idle:
        step = scheduler.next_step()
        steps += isinstance(step, Decode)
        for sink, events in scheduler.settle(step, contained(runner.run, step)).events:
            sink(events)
    return [(_text(events), _usage(events)) for events in heard]


def _order(row: int, text: Sequence[int], heard: list[Event]) -> Order:
    dice = random.Random(row)  # noqa: S311  # a choice, not a secret
    few = dice.sample(list(text), 3)
    request = GenerateRequest(
        id=str(row),
        model=MODEL,
        prompt=tuple(few * 6 if row else text),
        max_tokens=LENGTH,
        sampling=Sampling(
            temperature=(0.0, 0.0, 0.5)[row],
            seed=row,
            presence_penalty=(0.0, 0.0, 0.1)[row],
            logit_bias=({}, {**dict.fromkeys(few, PULL), few[0]: 2 * PULL}, dict.fromkeys(few, PULL))[row],
        ),
    )
    reader = Reader(request, table=_Numbers(), end_tokens=frozenset(), choice=0)
    prompt = Prompt(tokens=cast("tuple[int, ...]", request.prompt))
    return Order(request=request, prompt=prompt, reader=reader, model=MODEL, sink=heard.extend)


def _text(events: Sequence[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def _usage(events: Sequence[Event]) -> Usage:
    last = events[-1]
    assert isinstance(last, Finished), f"a row failed: {last}"
    return last.usage
