"""What is predicted and what is measured: weights, rows, passes; and a budget that holds with everybody answered."""

import gc
import random

import mlx.core as mx
import pytest
from msgspec.structs import replace

from mlxp_core.engine import Order
from mlxp_core.engine.faults import contained
from mlxp_core.engine.orders import Submit
from mlxp_core.engine.runner import BatchRunner
from mlxp_core.engine.scheduler import Scheduler
from mlxp_core.engine.shelf import Shelf
from mlxp_core.engine.speculation.drafters import ModelDrafter
from mlxp_core.errors import OverBudget
from mlxp_core.kv import policy_for
from mlxp_core.kv.quantized import DIRECT
from mlxp_core.loading.network import Network
from mlxp_core.memory import Account, Admission, footprint, with_guesses
from mlxp_core.memory.device import kept_within, this_machine
from mlxp_core.prompting import Prompt
from mlxp_core.reading import Reader
from mlxp_core.testing.networks import load, parameters, random_parameters
from mlxp_core.types import (
    EngineSettings,
    Failed,
    Finished,
    GenerateRequest,
    KVScheme,
    KVStorage,
    Sampling,
    Started,
)
from mlxp_gemma4.plugin import mlxp_model_families as gemma4
from mlxp_minicpm5.plugin import mlxp_model_families as minicpm5
from mlxp_qwen35.plugin import mlxp_model_families as qwen35

VOCABULARY, CONTEXT, CHUNK, BATCH = 128, 4096, 128, 8
COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
}
LLAMA = COMMON | {"model_type": "llama"}
GEMMA = COMMON | {
    "model_type": "gemma4_text",
    "vocab_size_per_layer_input": VOCABULARY,
    "global_head_dim": 64,
    "sliding_window": 300,
    "sliding_window_pattern": 2,
    "hidden_size_per_layer_input": 0,
    "num_kv_shared_layers": 1,
    "attention_k_eq_v": False,
    "use_double_wide_mlp": False,
    "final_logit_softcapping": 30.0,
}
QWEN = COMMON | {
    "model_type": "qwen3_5_text",
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "linear_conv_kernel_dim": 4,
    "full_attention_interval": 2,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
    "rope_parameters": {"rope_theta": 1e7, "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1]},
}
SHAPES = {
    "llama": (minicpm5, LLAMA, None),
    "packed": (minicpm5, LLAMA | {"num_key_value_heads": 4, "head_dim": 64}, KVStorage(8, 32)),
    "gemma4": (gemma4, GEMMA, None),
    "qwen35": (qwen35, QWEN, None),
}
"""Family, configuration, and how keys and values are packed."""


class Signs:
    """A tokenizer whose tokens are all the same letter; none is special, so that answers have their full length."""

    def __init__(self):
        self.added_tokens = self.special_tokens = {}

    def token_id(self, text):
        return None

    def token_bytes(self, token):
        return b"x"

    def decode(self, tokens, *, special=True):
        return "x" * len(tokens)


class House:
    """One model, and its scheduler and runner turned by hand."""

    def __init__(self, family, raw, storage):
        config = family.config(raw)
        model = family.build(config)
        before = mx.get_active_memory()
        load(model, random_parameters(model, 1))
        mx.eval(parameters(model))
        self.weights = mx.get_active_memory() - before
        need, machine = family.need(config, 4), this_machine()
        self.footprint = footprint(
            need,
            machine,
            weights=need.weights,
            value_bytes=4,
            vocabulary=VOCABULARY,
            storages={} if storage is None else {layer.number: storage for layer in need.layers},
            direct=DIRECT[machine.backend],
        )
        scheme = KVScheme() if storage is None else KVScheme(mode="8", uniform=storage)
        policy, kv = policy_for(model, scheme, mx.float32)
        self.network = Network(
            model=model,
            policy=policy,
            kv=kv,
            vocabulary=VOCABULARY,
            weight_bytes=self.weights,
        )
        self.steps, self.began, self.heard = 0, {}, {}

    def open(self, total=10**12, *, guesses="off"):
        """Begin; with ``twin`` the network guesses for itself, and its weights are there once."""
        network, counted, how = self.network, self.footprint, {"speculate": guesses}
        if guesses == "twin":
            network = replace(network, drafter=ModelDrafter(network, vocabulary=VOCABULARY))
            counted, how = counted.beside(replace(counted, weights=0)), {"draft_model": "twin"}
        shelf = Shelf({"m": None}, halted=lambda: False, load=lambda *_: network)
        asked = EngineSettings(batch=BATCH, prefill_chunk=CHUNK, prompt_cache_bytes=0, **how)
        self.admission = Admission({"m": with_guesses(Account(counted, CONTEXT), asked)}, total, chunk=CHUNK)
        gc.collect()
        self.others = mx.get_active_memory() - self.weights  # of tests before this one
        self.runner = BatchRunner(shelf, {})
        self.scheduler = Scheduler(["m"], asked, lambda: float(self.steps), self.admission)
        return self

    @property
    def peak(self):
        return self.scheduler.snapshot().peak_bytes - self.others

    def order(self, name, prompt, answer):
        self.heard[name] = []
        request = GenerateRequest(
            id=name, model="m", prompt=prompt, max_tokens=answer, sampling=Sampling(temperature=0.0, seed=1)
        )
        reader = Reader(request, table=Signs(), end_tokens=frozenset(), choice=0)
        return Order(
            request=request,
            prompt=Prompt(tokens=prompt),
            reader=reader,
            model="m",
            sink=self.heard[name].extend,
        )

    def turn(self, *orders):
        self.scheduler.apply([Submit((order,), 0.0) for order in orders])
        step = self.scheduler.next_step()
        deliveries = self.scheduler.settle(step, contained(self.runner.run, step))
        for sink, events in deliveries.events:
            sink(events)
        self.steps += 1
        for name, events in self.heard.items():
            if name not in self.began and any(isinstance(event, Started) for event in events):
                self.began[name] = self.steps

    def run_dry(self, *orders, watch=lambda: None):
        self.turn(*orders)
        while not self.scheduler.idle:
            self.turn()
            watch()


@pytest.fixture(params=SHAPES, scope="module")
def house(request):
    family, raw, storage = SHAPES[request.param]
    return House(family()[0], raw, storage)


def tokens(count):
    return tuple(1 + place % (VOCABULARY - 1) for place in range(count))


def test_weights_and_rows_are_what_is_predicted(house):
    assert house.footprint.weights == pytest.approx(house.weights, rel=0.05)
    here = house.open()
    for name, (prompt, answer) in enumerate([(40, 5), (260, 4), (500, 3)]):
        held = []
        here.run_dry(
            here.order(f"alone-{name}", tokens(prompt), answer),
            watch=lambda held=held: held.append(here.scheduler.snapshot().cache_bytes),
        )
        assert max(held) == pytest.approx(house.footprint.row(prompt + answer), rel=0.05)


@pytest.mark.parametrize("guesses", ["off", "lookup", "twin"])
def test_a_peak_is_what_is_predicted_of_rows_and_passes(house, guesses):
    here = house.open(guesses=guesses)
    here.run_dry(*(here.order(f"peak-{name}", tokens(500), 8) for name in range(4)))
    predicted = here.admission.held + here.admission.demand("m", [508] * 4)
    assert 0.6 * predicted < here.peak <= predicted


@pytest.mark.parametrize("guesses", ["off", "lookup"])
def test_a_budget_holds_and_everybody_is_answered(house, guesses):
    dice = random.Random(5)
    asked = [(dice.randint(5, 250), dice.randint(2, 8)) for _ in range(64)]
    sizes = sorted((sum(one) for one in asked), reverse=True)
    plenty = house.open(guesses=guesses).admission
    half = plenty.demand("m", sizes[:BATCH]) // 2
    total = plenty.held + max(half, plenty.demand("m", sizes[:1]))
    here = house.open(total, guesses=guesses)
    assert here.admission.spare("m", sizes[:BATCH]) < 0
    here.steps, here.began = 0, {}
    orders = [
        here.order(f"mixed-{name}", tokens(prompt), answer) for name, (prompt, answer) in enumerate(asked)
    ]
    seen = []

    def watch():
        now = here.scheduler.snapshot()
        assert now.reserved_bytes <= now.budget_bytes == total
        assert here.weights + now.cache_bytes <= total
        seen.append(now.prefilling + now.running)

    with kept_within(total):
        here.run_dry(*orders, watch=watch)
    assert here.peak <= total
    assert 1 < max(seen) <= BATCH
    for (_, answer), order in zip(asked, orders, strict=True):
        (last,) = here.heard[order.request.id][-1:]
        assert isinstance(last, Finished)
        assert last.usage.completion == answer
    starts = [here.began[order.request.id] for order in orders]
    chunks = -(-250 // CHUNK)
    bound = 2 * ((BATCH + BATCH) * chunks + 8)  # whoever has a row, and whoever may pass, one after another
    latest = 0
    for start in starts:
        assert start - latest <= bound, "somebody starved"
        latest = max(latest, start)


def test_what_never_fits_is_refused_before_any_work(house):
    plenty = house.open().admission
    here = house.open(plenty.held + plenty.demand("m", [500]))
    longest = here.admission.longest("m")
    assert 500 <= longest < 1000
    steps = here.runner.run
    here.run_dry(here.order("never", tokens(400), longest))
    (refused,) = here.heard["never"]
    assert isinstance(refused, Failed)
    assert (refused.code, refused.status) == (OverBudget.code, 400)
    assert str(longest) in refused.message
    assert here.runner.run == steps
    assert here.scheduler.snapshot().cache_bytes == 0
