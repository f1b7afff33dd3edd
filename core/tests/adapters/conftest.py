"""A small network of a family of its own, and adapters for it in every format, written here."""

import json
from types import SimpleNamespace

import mlx.core as mx
import pytest
from mlx import nn

from mlxp_core.contracts import ModelFamily
from mlxp_core.nn import ExpertStack, GatedFeedForward, Rope, merge_heads, split_heads
from mlxp_core.testing.networks import load, random_parameters
from mlxp_core.types import Need

VOCABULARY, HIDDEN, INNER, HEADS, DIM = 384, 32, 96, 2, 32
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self._rope = Rope.plain(DIM, 1e4)
        self.q_proj = nn.Linear(HIDDEN, HEADS * DIM, bias=True)
        self.k_proj = nn.Linear(HIDDEN, HEADS * DIM, bias=False)
        self.v_proj = nn.Linear(HIDDEN, HEADS * DIM, bias=False)
        self.o_proj = nn.Linear(HEADS * DIM, HIDDEN, bias=False)

    def __call__(self, x, at, cache):
        q, k = (self._rope(split_heads(proj(x), HEADS), at) for proj in (self.q_proj, self.k_proj))
        v = split_heads(self.v_proj(x), HEADS)
        return self.o_proj(merge_heads(cache.attend(q, k, v, at, scale=DIM**-0.5)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = Attention()
        self.mlp = GatedFeedForward(HIDDEN, INNER, "silu")
        self.norm = nn.RMSNorm(HIDDEN)

    def __call__(self, x, at, cache):
        x = x + self.self_attn(self.norm(x), at, cache)
        return x + self.mlp(self.norm(x))


class Small(nn.Module):
    """Two blocks; a stack of experts and a router that only have names."""

    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = [Block(), Block()]
        self.experts = nn.Module()
        self.experts.gate_proj = ExpertStack(2, HIDDEN, INNER)
        self.router = nn.Linear(HIDDEN, 2, bias=False)
        self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def __call__(self, inputs, caches):
        x = self.embed(inputs.tokens)
        for block, cache in zip(self.layers, caches, strict=True):
            x = block(x, inputs.at, cache)
        return x

    def embed(self, tokens):
        return self.embed_tokens(tokens)

    def logits(self, hidden):
        return self.head(hidden)

    def make_caches(self, policy):
        return [policy.full(layer) for layer in range(len(self.layers))]


def rename(name):
    """Return the parameter; tensors of the eyes are none of ours."""
    if name.startswith("vision."):
        return None
    return name.removeprefix("model.")


FAMILY = ModelFamily(
    name="small",
    model_types=("small",),
    config=lambda raw: raw,
    build=lambda _: Small(),
    rename=rename,
    need=lambda *_: Need(),
    lora_targets=TARGETS,
)


@pytest.fixture
def family():
    return FAMILY


@pytest.fixture
def network():
    """Return the network with random weights, the same for every test."""
    made = Small()
    load(made, random_parameters(made, 3))
    return made


@pytest.fixture
def quantized(network):
    """Return the same network in 8 bits."""
    nn.quantize(
        network, group_size=32, bits=8, class_predicate=lambda _, m: type(m) in {nn.Linear, nn.Embedding}
    )
    return network


def shape_of(name):
    """Return inputs and outputs of a projection."""
    return {
        "o_proj": (HEADS * DIM, HIDDEN),
        "gate_proj": (HIDDEN, INNER),
        "up_proj": (HIDDEN, INNER),
        "down_proj": (INNER, HIDDEN),
    }.get(name, (HIDDEN, HEADS * DIM))


def everywhere(names=TARGETS, layers=(0, 1)):
    """Return paths of projections as files name them."""
    part = {name: "mlp" if name.split("_")[0] in {"gate", "up", "down"} else "self_attn" for name in names}
    return [f"model.layers.{layer}.{part[name]}.{name}" for layer in layers for name in names]


def halves(modules, *, rank=4, seed=0, strength=0.1):
    """Return module -> A ``[inputs, rank]`` and B ``[rank, outputs]``, random."""
    made = {}
    for number, module in enumerate(modules):
        inputs, outputs = shape_of(module.rpartition(".")[2])
        key, other = mx.random.split(mx.random.key(1000 * seed + number))
        made[module] = (
            mx.random.normal((inputs, rank), key=key) * inputs**-0.5,
            mx.random.normal((rank, outputs), key=other) * strength,
        )
    return made


def write(folder, tensors, config, *, weights="adapters.safetensors", name="adapter_config.json"):
    """Write an adapter's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    mx.save_safetensors(str(folder / weights), {key: mx.contiguous(value) for key, value in tensors.items()})
    (folder / name).write_text(json.dumps(config))
    return folder


def write_mlx(folder, made, *, scale=2.0, **more):
    """Write terms as mlx-lm does."""
    tensors = {
        f"{module}.lora_{half}": value
        for module, ab in made.items()
        for half, value in zip("ab", ab, strict=True)
    }
    rank = next(iter(made.values()))[0].shape[1]
    config = {
        "fine_tune_type": "lora",
        "num_layers": 2,
        "lora_parameters": {"rank": rank, "scale": scale, "dropout": 0.0},
    }
    return write(folder, tensors, config | more)


def write_peft(folder, made, *, alpha=8, **more):
    """Write terms as PEFT does."""
    tensors = {
        f"base_model.model.{module}.lora_{half}.weight": value.T
        for module, ab in made.items()
        for half, value in zip("AB", ab, strict=True)
    }
    rank = next(iter(made.values()))[0].shape[1]
    config = {
        "peft_type": "LORA",
        "base_model_name_or_path": "org/small",
        "r": rank,
        "lora_alpha": alpha,
        "target_modules": sorted({module.rpartition(".")[2] for module in made}),
        "bias": "none",
        "use_dora": False,
        "use_rslora": False,
        "fan_in_fan_out": False,
        "modules_to_save": None,
        "init_lora_weights": True,
        "rank_pattern": {},
        "alpha_pattern": {},
    }
    return write(folder, tensors, config | more, weights="adapter_model.safetensors")


@pytest.fixture
def kit():
    """Return the makers of adapters."""
    return SimpleNamespace(
        halves=halves, everywhere=everywhere, write=write, write_mlx=write_mlx, write_peft=write_peft
    )
