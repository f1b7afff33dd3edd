"""Muon for the matrices, Adam for the rest.

Muon (Jordan and others, 2024) steps along the momentum with all its singular values made about one, by a Newton-Schulz
iteration whose quintic polynomial has the coefficients below. Matrices of one shape are done at once.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor

_QUINTIC = (3.4445, -4.7750, 2.0315)
_STEPS = 5


class Optimizer:
    """Both of them; ``scale`` of a step goes with their rates."""

    def __init__(
        self, named: dict[str, Tensor], *, muon: float, adam: float, decay: float, momentum: float = 0.95
    ) -> None:
        """Sort the parameters by how they are stepped."""
        groups: dict[torch.Size, list[Tensor]] = defaultdict(list)
        others: list[Tensor] = []
        for name, value in named.items():
            (groups[value.shape] if is_matrix(name, value) else others).append(value)
        self._groups = list(groups.values())
        self._momenta = [torch.zeros_like(torch.stack([*group])) for group in self._groups]
        self._muon, self._decay, self._momentum = muon, decay, momentum
        self._adam_rate = adam
        self._all = [value for group in self._groups for value in group] + others
        fused = others[0].is_cuda
        self._adam = torch.optim.AdamW(
            others, lr=adam, betas=(0.9, 0.98), eps=1e-10, weight_decay=0.0, fused=fused
        )

    def state(self) -> dict[str, Any]:
        """Return what it remembers between steps."""
        return {"momenta": self._momenta, "adam": self._adam.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Remember what ``state`` returned."""
        self._momenta = state["momenta"]
        self._adam.load_state_dict(state["adam"])

    @torch.no_grad()
    def step(self, scale: float) -> None:
        """Take a step and forget the gradients."""
        torch.nn.utils.clip_grad_norm_(self._all, 1.0)
        for group, momentum in zip(self._groups, self._momenta, strict=True):
            gradient = torch.stack([value.grad for value in group])  # type: ignore[misc]  # set by backward
            momentum.lerp_(gradient, 1 - self._momentum)
            ahead = gradient.lerp_(momentum, self._momentum)
            rows, columns = group[0].shape
            rate = self._muon * scale * max(1.0, rows / columns) ** 0.5
            step = orthogonal(ahead).to(group[0].dtype)
            torch._foreach_mul_(group, 1 - self._muon * scale * self._decay)
            torch._foreach_add_(group, list(step.unbind(0)), alpha=-rate)
        for settings in self._adam.param_groups:
            settings["lr"] = self._adam_rate * scale
        self._adam.step()
        for value in self._all:
            value.grad = None


def is_matrix(name: str, value: Tensor) -> bool:
    """Say whether Muon steps a parameter: a matrix that is no table and no handful of rows."""
    return value.ndim == 2 and "embed_tokens" not in name and min(value.shape) >= 32  # as said


def orthogonal(x: Tensor) -> Tensor:
    """Return ``[count, rows, columns]`` with singular values about one, bfloat16."""
    a, b, c = _QUINTIC
    y = x.bfloat16()
    if flip := y.shape[-2] > y.shape[-1]:
        y = y.mT
    y = y / (y.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(_STEPS):
        square = y @ y.mT
        y = a * y + (b * square + c * square @ square) @ y
    return y.mT if flip else y
