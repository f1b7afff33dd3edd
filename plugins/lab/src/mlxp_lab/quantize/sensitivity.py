"""How much each module hurts when it alone is packed: measured, one module and one width at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import mlx.core as mx
import msgspec
from mlx import nn

from mlxp_core.contracts import KVPolicy
from mlxp_core.workshop import OpenModel
from mlxp_core.workshop.parts import network_part
from mlxp_lab.quantize.choice import Choice
from mlxp_lab.quantize.measure import Yardstick
from mlxp_lab.quantize.plan import Module, Plan

Done = Callable[[int, int], None]
"""Told (measurements made, measurements in all); may raise to stop."""

Sensitivities = dict[str, dict[str, float]]
"""Path -> ``Choice.label`` -> KL in nats."""


class Rehearsal:
    """A network whose modules can be made to compute as if they were packed."""

    def __init__(self, model: OpenModel, network: nn.Module) -> None:
        """Rehearse with ``network``, which has plain modules."""
        self._model = model
        self._modules = dict(network.named_modules())

    @contextmanager
    def as_if(self, module: Module, choice: Choice) -> Iterator[None]:
        """Have one module compute as if it were packed, for as long as the block lasts."""
        meant = self._modules[module.path]
        plain = meant["weight"]
        meant.weight = rounded(plain, choice)
        try:
            yield
        finally:
            meant.weight = plain

    def play(self, plan: Plan) -> None:
        """Have all modules compute as planned, from now on; plain numbers are read again from the files."""
        part = network_part(self._model)
        for path, choice in plan.items():
            part.packed.pop(path, None)
            plain = part.arrays.pop(f"{path}.weight").astype(self._modules[path]["weight"].dtype)
            self._modules[path].weight = plain if choice is None else rounded(plain, choice)
            mx.eval(self._modules[path]["weight"])


def rounded(weight: mx.array, choice: Choice) -> mx.array:
    """Return what is left of a weight when it is packed and unpacked again; in its own type."""
    packed = mx.quantize(weight.astype(mx.bfloat16), choice.group_size, choice.bits, mode=choice.mode)
    plain = mx.dequantize(*packed, group_size=choice.group_size, bits=choice.bits, mode=choice.mode)
    return plain.astype(weight.dtype)


def measure_sensitivities(
    rehearsal: Rehearsal,
    yardstick: Yardstick,
    network: tuple[nn.Module, KVPolicy],
    candidates: Mapping[Module, Sequence[Choice]],
    record: Record,
    done: Done,
) -> Sensitivities:
    """Measure what is not measured yet.

    Args:
        rehearsal: of the network.
        yardstick: what the network says with all modules plain.
        network: with its caches' policy.
        candidates: module -> what to try.
        record: what is known already; what is measured goes there at once.
        done: told after each measurement.
    """
    wanted = [(module, choice) for module, choices in candidates.items() for choice in choices]
    for place, (module, choice) in enumerate(wanted, start=1):
        if record.get(module.path, choice) is None:
            with rehearsal.as_if(module, choice):
                kl = yardstick.kl(*network)
            record.put(module.path, choice, kl)
        done(place, len(wanted))
    return record.known


class Record:
    """Sensitivities in a file, so that another target, or another try, needs no new measurement."""

    def __init__(self, path: Path) -> None:
        """Read the file, if it is there and whole."""
        self._path = path
        try:
            self.known: Sensitivities = msgspec.json.decode(path.read_bytes(), type=Sensitivities)
        except (OSError, msgspec.MsgspecError):
            self.known = {}

    def get(self, path: str, choice: Choice) -> float | None:
        """Return what is known of a module."""
        return self.known.get(path, {}).get(choice.label)

    def put(self, path: str, choice: Choice, value: float) -> None:
        """Note what was measured."""
        self.known.setdefault(path, {})[choice.label] = value
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".part")
        fresh.write_bytes(msgspec.json.encode(self.known))
        fresh.replace(self._path)
