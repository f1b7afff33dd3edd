"""From a model and a plan to a folder that mlx-lm and we can load, tensor by tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import mlx.core as mx

from mlxp_core.workshop import OpenModel, StoredTensor
from mlxp_core.workshop.parts import Part, draft_part, left_over, network_part
from mlxp_lab.quantize.choice import Choice, Mode
from mlxp_lab.quantize.folder import copy_beside, write_config
from mlxp_lab.quantize.modules import modules_of
from mlxp_lab.quantize.plan import Module, Plan, uniform
from mlxp_lab.quantize.shards import ShardWriter

Step = Callable[[int, int], None]
"""Told (tensors written, tensors in all); may raise to stop."""

DRAFT = Choice(8, 64)
"""How a draft network is packed: it is small, and guesses that are wrong cost time."""

DTYPES = {"bfloat16": mx.bfloat16, "float16": mx.float16}


def write_model(
    model: OpenModel, plan: Plan, folder: Path, *, default: Choice, shard_bytes: int, step: Step
) -> int:
    """Write a model, packed as planned.

    Tensors of eyes and other senses are copied as they are. A draft network is packed with 8 bits.

    Args:
        model: what to pack; it may be packed already.
        plan: for the modules of its language model.
        folder: empty; gets weights, configuration, tokenizer, and what else belongs to a model.
        default: what config.json names for all modules that it does not list.
        shard_bytes: most bytes of one weight file.
        step: told after every tensor.

    Returns:
        Bytes of all weights.
    """
    plans = [(network_part(model), plan)]
    if (draft := draft_part(model)) is not None:
        plans.append((draft, uniform(modules_of(draft.module), DRAFT)))
    return write_parts(
        model, plans, folder, default=default, shard_bytes=shard_bytes, step=step, dtype=dtype_of(model)
    )


def write_parts(
    model: OpenModel,
    plans: Sequence[tuple[Part, Plan]],
    folder: Path,
    *,
    default: Choice | None,
    shard_bytes: int,
    step: Step,
    dtype: mx.Dtype | None,
) -> int:
    """Write the networks of a model, each as planned; what is planned as it is stored is written as it is stored.

    Args:
        model: whose networks they are; its other tensors are copied.
        plans: for each network.
        folder: empty; gets weights, configuration, tokenizer, and what else belongs to a model.
        default: what config.json names for all modules that it does not list; ``None`` = nothing is packed.
        shard_bytes: most bytes of one weight file.
        step: told after every tensor.
        dtype: of numbers that are not packed; ``None`` = as they are.

    Returns:
        Bytes of all weights.
    """
    others = left_over(model)
    total, done = sum(len(part.arrays) for part, _ in plans) + len(others), 0
    writer, numbers = ShardWriter(folder, shard_bytes), 0
    for part, chosen in plans:
        for name in sorted(part.arrays, key=part.mlx_name):
            array = part.arrays.pop(name)
            numbers += math.prod(array.shape)
            _write(writer, part, name, array, chosen, dtype)
            done += 1
            step(done, total)
    for name, tensor in sorted(others.items()):
        array = _stored(name, tensor)
        numbers += math.prod(array.shape)
        writer.add(name, array)
        done += 1
        step(done, total)
    writer.finish(numbers)
    named = {_module(part, path): choice for part, chosen in plans for path, choice in chosen.items()}
    copy_beside(model.folder.path, folder)
    write_config(model, folder, named, default, kept=others)  # last: a folder with it is whole
    return writer.total_bytes


def as_stored(part: Part, modules: Sequence[Module]) -> Plan:
    """Return the plan that leaves every module as it is."""
    return {module.path: _stored_choice(part, module.path) for module in modules}


def _stored_choice(part: Part, path: str) -> Choice | None:
    stored = part.packings.get(path)
    return None if stored is None else Choice(stored.bits, stored.group_size, cast("Mode", stored.mode))


def _module(part: Part, path: str) -> str:
    """Return what new files call a module."""
    return part.mlx_name(f"{path}.weight").removesuffix(".weight")


def dtype_of(model: OpenModel) -> mx.Dtype:
    """Return the type of numbers that are not packed: float16 where the model is stored so, else bfloat16."""
    stored = [tensor.dtype for tensor in model.folder.tensors.values()]
    return mx.float16 if stored.count("F16") > stored.count("BF16") else mx.bfloat16


def _write(
    writer: ShardWriter, part: Part, name: str, array: mx.array, plan: Plan, dtype: mx.Dtype | None
) -> None:
    """Write one parameter, packed if the plan says so."""
    path = name.removesuffix(".weight")
    choice = plan.get(path) if path != name else None
    own = part.mlx_name(name)
    stored = part.packed.pop(path, None) if path != name else None
    keeps = dtype is None or name.endswith(part.float32) or not mx.issubdtype(array.dtype, mx.floating)
    if choice is None:
        writer.add(own, array if keeps or dtype is None else array.astype(dtype))
        return
    if stored is None or choice != _stored_choice(part, path):
        plain = array if dtype is None else array.astype(dtype)
        stored = mx.quantize(plain, choice.group_size, choice.bits, mode=choice.mode)
    stem = own.removesuffix(".weight")
    for suffix, piece in zip(("weight", "scales", "biases"), stored, strict=False):
        writer.add(f"{stem}.{suffix}", piece)


def _stored(name: str, tensor: StoredTensor) -> mx.array:
    arrays = mx.load(str(tensor.file))
    if not isinstance(arrays, dict):
        raise TypeError(f"{tensor.file.name} is no safetensors file")
    return arrays[name]
