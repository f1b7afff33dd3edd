"""What passes and draws allocate and give back, beside what ``Need`` says of it.

    python benchmarks/bench_memory.py

For each family, a network of middling size with random weights reads chunks of a prompt; printed is the peak beside
weights and caches, what ``Footprint.chunk`` says, and their ratio. The rows "hidden", "inner", "queries" and "kept"
vary one size of a llama at a time: the coefficients of ``passing_values`` are the differences between them. The last
rows are "kept" with keys and values in a few bits.
"""

from typing import Any, Literal, cast

import mlx.core as mx

from mlxp_core.contracts import LanguageModel, ModelFamily, RawConfig, VisionTower
from mlxp_core.kv import BatchCache, forward, policy_for
from mlxp_core.kv.quantized import DIRECT
from mlxp_core.memory import Footprint, footprint, look_of
from mlxp_core.memory.device import this_machine
from mlxp_core.sampling.sampler import Sampler
from mlxp_core.testing.networks import load, parameters, random_parameters
from mlxp_core.types import KVScheme, KVStorage, Machine, Sampling
from mlxp_gemma4.plugin import mlxp_model_families as gemma4
from mlxp_gemma4.plugin import mlxp_vision_towers as gemma4_eyes
from mlxp_minicpm5.plugin import mlxp_model_families as minicpm5
from mlxp_qwen35.plugin import mlxp_model_families as qwen35
from mlxp_qwen35.plugin import mlxp_vision_towers as qwen35_eyes

LLAMA = {
    "model_type": "llama",
    "vocab_size": 1000,
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
}
KEPT = LLAMA | {"num_key_value_heads": 8}
GEMMA = {
    "model_type": "gemma4_text",
    "vocab_size": 1000,
    "vocab_size_per_layer_input": 1000,
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "global_head_dim": 128,
    "sliding_window": 512,
    "sliding_window_pattern": 3,
    "hidden_size_per_layer_input": 0,
    "num_kv_shared_layers": 0,
    "attention_k_eq_v": False,
    "use_double_wide_mlp": False,
    "final_logit_softcapping": 30.0,
}
EXPERTS = {
    "enable_moe_block": True,
    "num_experts": 16,
    "top_k_experts": 4,
    "moe_intermediate_size": 256,
}
QWEN = {
    "model_type": "qwen3_5_text",
    "vocab_size": 1000,
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 64,
    "linear_value_head_dim": 64,
    "linear_conv_kernel_dim": 4,
    "full_attention_interval": 4,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
    "rope_parameters": {"rope_theta": 1e7, "partial_rotary_factor": 0.25, "mrope_section": [3, 3, 2]},
}
SHAPES = {
    "llama": (minicpm5, LLAMA),
    "hidden": (minicpm5, LLAMA | {"hidden_size": 1024}),
    "inner": (minicpm5, LLAMA | {"intermediate_size": 3072}),
    "queries": (minicpm5, LLAMA | {"num_attention_heads": 16}),
    "kept": (minicpm5, KEPT),
    "gemma": (gemma4, GEMMA),
    "experts": (gemma4, GEMMA | EXPERTS),
    "qwen": (qwen35, QWEN),
}
EYES: dict[str, Any] = {
    "qwen": (
        qwen35_eyes,
        {
            "vision_config": {
                "depth": 2,
                "hidden_size": 1024,
                "intermediate_size": 4096,
                "num_heads": 16,
                "out_hidden_size": 2560,
            },
            "text_config": {"hidden_size": 2560},
        },
    ),
    "gemma": (
        gemma4_eyes,
        {
            "vision_config": {
                "model_type": "gemma4_vision",
                "num_hidden_layers": 2,
                "use_clipped_linears": True,
            },
            "text_config": {"hidden_size": 2560},
        },
    ),
    "unified": (
        gemma4_eyes,
        {"vision_config": {"model_type": "gemma4_unified_vision"}, "text_config": {"hidden_size": 3840}},
    ),
}
CASES = ((64, 512), (256, 256), (256, 2048), (512, 4096))


def main() -> None:
    """Print the tables."""
    machine = this_machine()
    print(f"{machine.chip}, {machine.backend}")
    print(f"{'shape':10}{'chunk':>8}{'keys':>8}{'measured MB':>14}{'said MB':>10}{'ratio':>8}")
    for name, (family, raw) in SHAPES.items():
        for chunk, keys in CASES:
            measured, said = pass_bytes(family()[0], raw, machine, chunk, keys)
            print(f"{name:10}{chunk:8}{keys:8}{measured / 1e6:14.2f}{said / 1e6:10.2f}{measured / said:8.2f}")
    for bits in (8, 4):
        for chunk, keys in CASES:
            measured, said = pass_bytes(minicpm5()[0], KEPT, machine, chunk, keys, bits)
            name = f"{bits} bits"
            print(f"{name:10}{chunk:8}{keys:8}{measured / 1e6:14.2f}{said / 1e6:10.2f}{measured / said:8.2f}")
    print("images, with eyes like those of 4B and E4B models:")
    for name, (brought, raw) in EYES.items():
        for rows, columns in ((8, 8), (16, 17)):
            measured, said = image_bytes(brought()[0], raw, machine, rows, columns)
            size = f"{rows}x{columns}"
            print(f"{name:10}{size:>16}{measured / 1e6:14.2f}{said / 1e6:10.2f}{measured / said:8.2f}")
    print("copies of the logits while a token is drawn:")
    for top_p, top_k in ((0.0, 0), (0.9, 0), (0.0, 40), (0.9, 40)):
        print(f"top_p {top_p}, top_k {top_k}: {draw_copies(top_p, top_k):.2f}")


def pass_bytes(
    family: ModelFamily,
    raw: RawConfig,
    machine: Machine,
    chunk: int,
    keys: int,
    bits: Literal[8, 4] | None = None,
) -> tuple[int, int]:
    """Return the measured peak of the last chunk of a prompt, and what the footprint says of it.

    Args:
        family: of the network.
        raw: its configuration.
        machine: this one.
        chunk: tokens of a pass.
        keys: tokens of the prompt.
        bits: of keys and values; ``None`` = plain.
    """
    config = family.config(raw)
    network = family.build(config)
    load(network, random_parameters(network, 1))
    mx.eval(network.parameters())
    value_bytes = next(iter(parameters(network).values())).itemsize
    need = family.need(config, value_bytes)
    scheme = KVScheme() if bits is None else KVScheme(mode="8", uniform=KVStorage(bits, 64))
    policy, _ = policy_for(network, scheme, mx.float32)
    said = footprint(
        need,
        machine,
        weights=0,
        value_bytes=value_bytes,
        vocabulary=0,
        storages={} if bits is None else {layer.number: KVStorage(bits, 64) for layer in need.layers},
        direct=DIRECT[machine.backend],
    )
    cache = BatchCache(network.make_caches(policy))
    tokens = mx.zeros((1, chunk), dtype=mx.int32)
    for _ in range(keys // chunk - 1):
        mx.eval(forward(network, cache, tokens)[:, -1:])
    mx.synchronize()
    mx.clear_cache()
    before, held = mx.get_active_memory(), cache.nbytes
    mx.reset_peak_memory()
    mx.eval(forward(network, cache, tokens)[:, -1:])
    return mx.get_peak_memory() - before - (cache.nbytes - held), said.chunk(chunk, keys)


def image_bytes(
    tower: VisionTower, raw: RawConfig, machine: Machine, rows: int, columns: int
) -> tuple[int, int]:
    """Return the measured peak of looking at an image of so many soft tokens, and what the footprint says of it."""
    config = tower.config(raw)
    assert config is not None
    network = tower.build(config)
    weighed = cast("LanguageModel", network)  # as far as its parameters go, it is one
    load(weighed, random_parameters(weighed, 1))
    mx.eval(parameters(weighed))
    side = config.cut.side if hasattr(config, "cut") else config.side
    pixels = mx.zeros((rows * side, columns * side, 3), dtype=mx.uint8)
    mx.eval(pixels)
    mx.clear_cache()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    mx.eval(network(pixels, (1, rows, columns)))
    assert tower.need is not None
    look = look_of(tower.need(config), machine, 4)
    return mx.get_peak_memory() - before, Footprint(weights=0, look=look).looking(rows * columns)


def draw_copies(top_p: float, top_k: int, rows: int = 8, vocabulary: int = 100_000) -> float:
    """Return the peak of a draw in float32 copies of the logits, those included."""
    samplers = [
        Sampler.start(
            Sampling(seed=row, temperature=0.7, top_p=top_p, top_k=top_k),
            [1, 2, 3],
            vocabulary=vocabulary,
            top_scores=None,
            stages={},
        )
        for row in range(rows)
    ]
    batch, *others = samplers
    for other in others:
        batch.join(other)
    for _ in range(2):
        mx.clear_cache()
        before = mx.get_active_memory()
        mx.reset_peak_memory()
        mx.eval(*batch.draw(mx.random.normal((rows, vocabulary))).arrays)
    return (mx.get_peak_memory() - before) / (rows * vocabulary * 4)


if __name__ == "__main__":
    main()
