"""Qwen 3.5's dense network in torch, for training: text only, whole sequences, no caches.

Tokens of all rows lie flat, ``[tokens, dim]``, with the place of each in its row, so that most of a layer is one
function of flat shape, whatever the rows are; those functions are what is compiled. Parameters are float32, activations
have the type that ``forward`` is given. Names are those of published checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from demo_model.delta import across, within
from demo_model.shape import Shape

# ── Functions of flat shape; these are compiled ─────────────────────────────────────────────────────────────────────


def norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """``x / rms(x) * (1 + weight)``."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * (1 + weight)).to(x.dtype)


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """``x weight^T`` in the type of ``x``."""
    return functional.linear(x, weight.to(x.dtype))


def unit(x: Tensor) -> Tensor:
    """``x / |x|`` over the last axis."""
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


def delta_before(x: Tensor, place: Tensor, shape: Shape, weights: list[Tensor]) -> tuple[Tensor, ...]:
    """Return what the chunks of a delta layer need to know (float32), and gates."""
    scale, qkv, gate, rate, decay, conv, log_rate, bias = weights
    y = norm(x, scale, shape.eps)
    u = linear(y, qkv)
    mixed = u.float() * conv[:, 0, -1]
    for back in range(1, shape.kernel):
        earlier = functional.pad(u, (0, 0, back, 0))[: u.shape[0]].float()
        mixed = mixed + torch.where(place[:, None] >= back, earlier, 0) * conv[:, 0, -1 - back]
    mixed = functional.silu(mixed)
    keys = shape.key_heads * shape.key_dim
    q, k, v = mixed.split((keys, keys, shape.value_heads * shape.value_dim), -1)
    q = unit(q.unflatten(-1, (shape.key_heads, shape.key_dim))) * shape.key_dim**-0.5
    k = unit(k.unflatten(-1, (shape.key_heads, shape.key_dim)))
    v = v.unflatten(-1, (shape.value_heads, shape.value_dim))
    g = -log_rate.exp() * functional.softplus(linear(y, decay).float() + bias)
    b = linear(y, rate).float().sigmoid()
    if (groups := shape.value_heads // shape.key_heads) > 1:
        q, k = (each.repeat_interleave(groups, 1) for each in (q, k))
    return (*within(q, k, v, g, b), linear(y, gate))


def delta_after(x: Tensor, answer: Tensor, gate: Tensor, shape: Shape, weights: list[Tensor]) -> Tensor:
    """Gate and project what a delta layer found, and go through the feed-forward layer."""
    scale, out, *rest = weights
    wide = answer * torch.rsqrt(answer.square().mean(-1, keepdim=True) + shape.eps) * scale
    gated = (wide.flatten(-2) * functional.silu(gate.float())).to(x.dtype)
    return feed_forward(x + linear(gated, out), shape, rest)


def attention_before(
    x: Tensor, cos: Tensor, sin: Tensor, shape: Shape, weights: list[Tensor]
) -> tuple[Tensor, ...]:
    """Return queries, keys, values and gates of an attention layer, all flat."""
    scale, query, key, value, query_scale, key_scale = weights
    y = norm(x, scale, shape.eps)
    both = linear(y, query).unflatten(-1, (shape.heads, 2 * shape.head_dim))
    q, gate = both.split(shape.head_dim, -1)
    k, v = (linear(y, each).unflatten(-1, (shape.kv_heads, shape.head_dim)) for each in (key, value))
    q, k = norm(q, query_scale, shape.eps), norm(k, key_scale, shape.eps)
    return turn(q, cos, sin), turn(k, cos, sin), v, gate


def attention_after(x: Tensor, answer: Tensor, gate: Tensor, shape: Shape, weights: list[Tensor]) -> Tensor:
    """Gate and project what attention found, and go through the feed-forward layer."""
    out, *rest = weights
    return feed_forward(x + linear((answer * gate.sigmoid()).flatten(-2), out), shape, rest)


def feed_forward(x: Tensor, shape: Shape, weights: list[Tensor]) -> Tensor:
    """Add ``down(silu(gate y) * up y)``."""
    scale, gate, up, down = weights
    y = norm(x, scale, shape.eps)
    return x + linear(functional.silu(linear(y, gate)) * linear(y, up), down)


def turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the first dimensions of each head by its place (Su et al.: "RoFormer", 2021)."""
    half = cos.shape[-1]
    a, b, rest = x[..., :half].float(), x[..., half : 2 * half].float(), x[..., 2 * half :]
    return torch.cat(((a * cos - b * sin).to(x.dtype), (b * cos + a * sin).to(x.dtype), rest), -1)


def loss_of(x: Tensor, scale: Tensor, table: Tensor, targets: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Return the weighted sum of how surprising each next token was."""
    logits = linear(norm(x, scale, eps), table)
    return (functional.cross_entropy(logits.float(), targets, reduction="none") * weight).sum()


# ── The network ─────────────────────────────────────────────────────────────────────────────────────────────────────


class Network(nn.Module):
    """All parameters by their published names, and how they are used."""

    def __init__(self, shape: Shape, weights: dict[str, Tensor], *, compiled: bool = False) -> None:
        """Take parameters by their names; with ``compiled``, have torch compile the flat functions."""
        super().__init__()
        self.shape = shape
        self.weights = nn.ParameterDict(
            {
                _key(name): value if isinstance(value, nn.Parameter) else nn.Parameter(value)
                for name, value in weights.items()
            }
        )
        wrap: Callable[[Any], Any] = torch.compile if compiled else lambda function: function
        self._delta_before, self._delta_after = wrap(delta_before), wrap(delta_after)
        self._attention_before, self._attention_after = wrap(attention_before), wrap(attention_after)
        self._loss = wrap(loss_of)

    def named(self) -> dict[str, Tensor]:
        """Return all parameters by their published names."""
        return {name.replace("/", "."): value for name, value in self.weights.items()}

    def forward(self, tokens: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the last hidden states before the last norm: ``[rows, width]`` to ``[rows * width, hidden]``."""
        rows, width = tokens.shape
        place = torch.arange(width, device=tokens.device).repeat(rows)
        cos, sin = self._angles(place)
        x = functional.embedding(tokens.flatten(), self._of("embed_tokens.weight")).to(dtype)
        for layer in range(self.shape.layers):
            if self.shape.full(layer):
                x = self._attend(x, layer, (rows, width), cos, sin)
            else:
                x = self._remember(x, layer, (rows, width), place)
        return x

    def logits(self, tokens: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Score every next token: ``[rows, width]`` to ``[rows, width, vocabulary]``."""
        return self.head(self(tokens, dtype)).view(*tokens.shape, -1)

    def head(self, hidden: Tensor) -> Tensor:
        """Score every token after these hidden states, ``[..., hidden]`` to ``[..., vocabulary]``."""
        return linear(norm(hidden, self._of("norm.weight"), self.shape.eps), self._of("embed_tokens.weight"))

    def loss(self, tokens: Tensor, targets: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the weighted sum of the losses; all ``[rows, width]``."""
        return self._loss(
            self(tokens, dtype),
            self._of("norm.weight"),
            self._of("embed_tokens.weight"),
            targets.flatten(),
            weight.flatten(),
            self.shape.eps,
        )

    def _attend(self, x: Tensor, layer: int, sizes: tuple[int, int], cos: Tensor, sin: Tensor) -> Tensor:
        own = (
            "input_layernorm",
            "self_attn.q_proj",
            "self_attn.k_proj",
            "self_attn.v_proj",
            "self_attn.q_norm",
            "self_attn.k_norm",
        )
        q, k, v, gate = self._attention_before(x, cos, sin, self.shape, self._all(layer, own))
        heads = (each.view(*sizes, *each.shape[1:]).transpose(1, 2) for each in (q, k, v))
        answer = functional.scaled_dot_product_attention(
            *heads, is_causal=True, enable_gqa=self.shape.kv_heads != self.shape.heads
        )
        flat = answer.transpose(1, 2).flatten(0, 1)
        return self._attention_after(
            x, flat, gate, self.shape, self._all(layer, ("self_attn.o_proj", *_FEED))
        )

    def _remember(self, x: Tensor, layer: int, sizes: tuple[int, int], place: Tensor) -> Tensor:
        own = (
            "input_layernorm",
            *(
                f"linear_attn.{part}"
                for part in ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "conv1d")
            ),
        )
        weights = [
            *self._all(layer, own),
            *(self._of(f"layers.{layer}.linear_attn.{part}") for part in ("A_log", "dt_bias")),
        ]
        *parts, gate = self._delta_before(x, place, self.shape, weights)
        answer = across(*parts, sizes[0])
        return self._delta_after(
            x,
            answer,
            gate,
            self.shape,
            self._all(layer, ("linear_attn.norm", "linear_attn.out_proj", *_FEED)),
        )

    def _of(self, name: str) -> Tensor:
        return self.weights[_key(f"model.{name}")]

    def _all(self, layer: int, names: tuple[str, ...]) -> list[Tensor]:
        return [self._of(f"layers.{layer}.{name}.weight") for name in names]

    def _angles(self, place: Tensor) -> tuple[Tensor, Tensor]:
        half = self.shape.rotary // 2
        frequencies = self.shape.theta ** (
            -torch.arange(half, device=place.device, dtype=torch.float32) / half
        )
        angles = (place.float()[:, None] * frequencies)[:, None]
        return angles.cos(), angles.sin()


_FEED = ("post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")


def _key(name: str) -> str:
    return name.replace(".", "/")


def initial(shape: Shape, seed: int) -> dict[str, Tensor]:
    """Draw the parameters of a new network."""
    draw = torch.Generator().manual_seed(seed)

    def matrix(rows: int, columns: int, gain: float = 1.0) -> Tensor:
        return torch.randn(rows, columns, generator=draw) * (gain * columns**-0.5)

    hidden, wide, deep = shape.hidden, shape.feedforward, (2 * shape.layers) ** -0.5
    found = {"model.embed_tokens.weight": torch.randn(shape.vocabulary, hidden, generator=draw) * 0.05}
    for layer in range(shape.layers):
        part: dict[str, Tensor] = {"input_layernorm.weight": torch.zeros(hidden)}
        if shape.full(layer):
            queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
            part |= {
                "self_attn.q_proj.weight": matrix(2 * queries, hidden),
                "self_attn.k_proj.weight": matrix(keys, hidden),
                "self_attn.v_proj.weight": matrix(keys, hidden),
                "self_attn.o_proj.weight": matrix(hidden, queries, deep),
                "self_attn.q_norm.weight": torch.zeros(shape.head_dim),
                "self_attn.k_norm.weight": torch.zeros(shape.head_dim),
            }
        else:
            values = shape.value_heads * shape.value_dim
            pace = torch.exp(torch.rand(shape.value_heads, generator=draw) * math.log(100) + math.log(1e-3))
            part |= {
                "linear_attn.in_proj_qkv.weight": matrix(shape.channels, hidden),
                "linear_attn.in_proj_z.weight": matrix(values, hidden),
                "linear_attn.in_proj_b.weight": matrix(shape.value_heads, hidden),
                "linear_attn.in_proj_a.weight": matrix(shape.value_heads, hidden, 0.1),
                "linear_attn.conv1d.weight": torch.randn(shape.channels, 1, shape.kernel, generator=draw)
                * 0.3,
                "linear_attn.A_log": torch.log(1 + 15 * torch.rand(shape.value_heads, generator=draw)),
                "linear_attn.dt_bias": pace + torch.log(-torch.expm1(-pace)),
                "linear_attn.norm.weight": torch.ones(shape.value_dim),
                "linear_attn.out_proj.weight": matrix(hidden, values, deep),
            }
        part |= {
            "post_attention_layernorm.weight": torch.zeros(hidden),
            "mlp.gate_proj.weight": matrix(wide, hidden),
            "mlp.up_proj.weight": matrix(wide, hidden),
            "mlp.down_proj.weight": matrix(hidden, wide, deep),
        }
        found |= {f"model.layers.{layer}.{name}": tensor for name, tensor in part.items()}
    return {**found, "model.norm.weight": torch.zeros(hidden)}
