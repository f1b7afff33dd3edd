"""What is written is what was meant, and others read it as we do."""

import importlib
import json
import shutil

import mlx.core as mx
import pytest

from mlxp_core.testing.networks import Session
from mlxp_core.workshop import open_model
from mlxp_core.workshop.parts import network_part
from mlxp_lab.quantize.choice import Choice
from mlxp_lab.quantize.modules import modules_of
from mlxp_lab.quantize.plan import bits_per_weight, uniform
from mlxp_lab.quantize.sensitivity import rounded
from mlxp_lab.quantize.writer import write_model

TOKENS = [5, 9, 33, 100, 200, 7, 8, 60, 61, 62]
GEMMA = ["gemma4-12b-unified", "gemma4-26b-a4b", "gemma4-e2b", "gemma4-e2b-text"]
PUBLISHED = [*GEMMA, "minicpm5", "qwen35", "qwen35-moe"]
MIXED = ["gemma4-e2b-text-mixed", "minicpm5-mixed", "qwen35-mixed", "qwen35-moe-4bit-g32"]
WAYS = [Choice(4, 64), Choice(3, 32), Choice(8, 32, "mxfp8")]


def write(model, folder, choice, *, shard_bytes=10**9, plan=None):
    modules = modules_of(network_part(model).module)
    folder.mkdir()
    plan = uniform(modules, choice) if plan is None else plan
    write_model(model, plan, folder, default=choice, shard_bytes=shard_bytes, step=lambda *_: None)
    return modules, plan


def ours(folder, bench):
    return Session(open_model(folder, bench).network("float32").model).read([TOKENS])[0]


def theirs(folder):
    model, _ = pytest.importorskip("mlx_lm.utils").load_model(folder)
    model.set_dtype(mx.float32)
    return model(mx.array([TOKENS]))[0]


@pytest.mark.parametrize("choice", WAYS, ids=lambda choice: choice.label)
@pytest.mark.parametrize("name", [*PUBLISHED, *MIXED])
def test_mlx_lm_computes_with_it_what_we_do(opened, bench, tmp_path, name, choice):
    write(opened(name), tmp_path / "out", choice)
    expected = theirs(tmp_path / "out")
    close = 2e-2 if choice.mode != "affine" else 2e-5  # mlx-lm scales embeddings in bfloat16 there
    assert mx.abs(ours(tmp_path / "out", bench) - expected).max() <= close * mx.abs(expected).max()


@pytest.mark.parametrize("name", ["qwen35-text", "gemma4-31b"])
def test_what_mlx_lm_lacks_or_shares_is_read_as_it_is_meant(opened, bench, tmp_path, name):
    """Packed, it computes what it does with the same numbers unpacked."""
    write(opened(name), tmp_path / "out", Choice(4, 64))
    model = open_model(tmp_path / "out", bench)
    packed = Session(model.network("float32").model).read([TOKENS])[0]
    plain = Session(model.network("float32", packed=False).model).read([TOKENS])[0]
    assert mx.allclose(packed, plain, atol=2e-4)


@pytest.mark.parametrize("name", ["qwen35-moe", "gemma4-26b-a4b"])
def test_every_number_is_the_source_rounded(opened, bench, tmp_path, name):
    modules, plan = write(opened(name), tmp_path / "out", Choice(4, 64))
    before, after = network_part(opened(name)), network_part(open_model(tmp_path / "out", bench))
    assert before.arrays.keys() == after.arrays.keys()
    assert {path: (p.bits, p.group_size) for path, p in after.packings.items()} == {
        path: (choice.bits, choice.group_size) for path, choice in plan.items()
    }
    for module in modules:
        expected = rounded(before.arrays[f"{module.path}.weight"].astype(mx.bfloat16), plan[module.path])
        found = after.arrays[f"{module.path}.weight"]
        assert mx.allclose(found, expected.astype(mx.float32), atol=2e-2)


def test_experts_are_packed_and_those_who_choose_them_keep_eight_bits(opened, tmp_path):
    _, plan = write(opened("qwen35-moe"), tmp_path / "out", Choice(2, 32))
    config = json.loads((tmp_path / "out" / "config.json").read_text())["quantization"]
    experts = [path for path in plan if ".switch_mlp." in path]
    assert experts
    assert all(plan[path].bits == 2 for path in experts)
    routers = [path for path in plan if path.endswith(("mlp.gate", "shared_expert_gate"))]
    assert routers
    assert all(config[f"language_model.{path}"]["bits"] == 8 for path in routers)


def test_shards_are_full_and_an_index_tells_where_everything_is(opened, tmp_path):
    limit = 100_000
    write(opened("qwen35"), tmp_path / "out", Choice(4, 64), shard_bytes=limit)
    files = sorted((tmp_path / "out").glob("*.safetensors"))
    count = len(files)
    assert [file.name for file in files] == [
        f"model-{n:05d}-of-{count:05d}.safetensors" for n in range(1, count + 1)
    ]
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    found = {name: file.name for file in files for name in mx.load(str(file))}
    assert index["weight_map"] == found
    sizes = {file.name: sum(a.nbytes for a in mx.load(str(file)).values()) for file in files}
    assert index["metadata"]["total_size"] == sum(sizes.values())
    assert all(size <= limit or list(found.values()).count(name) == 1 for name, size in sizes.items())
    parameters = network_part(opened("qwen35")).arrays
    own = sum(array.size for array in parameters.values())
    assert index["metadata"]["total_parameters"] >= own


def test_one_shard_has_no_index(opened, tmp_path):
    write(opened("minicpm5"), tmp_path / "out", Choice(4, 64))
    assert {file.name for file in (tmp_path / "out").iterdir()} >= {"model.safetensors", "tokenizer.json"}
    assert not (tmp_path / "out" / "model.safetensors.index.json").exists()


def test_modules_left_plain_are_said_to_be(opened, bench, tmp_path):
    model = opened("minicpm5")
    modules = modules_of(network_part(model).module)
    plan = {module.path: Choice(4, 64) if "mlp" in module.path else None for module in modules}
    write(model, tmp_path / "out", Choice(4, 64), plan=plan)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    section = config["quantization"]
    assert section == config["quantization_config"]
    assert {path for path, entry in section.items() if entry is False} == {
        p for p, c in plan.items() if c is None
    }
    assert mx.allclose(ours(tmp_path / "out", bench), theirs(tmp_path / "out"), atol=1e-4)


def test_eyes_are_copied_as_they_are(opened, bench, tmp_path):
    for name in ("qwen35", "gemma4-e2b"):
        write(opened(name), tmp_path / name, Choice(4, 64))
        before = mx.load(str(opened(name).folder.path / "model.safetensors"))
        after = mx.load(str(tmp_path / name / "model.safetensors"))
        eyes = [tensor for tensor in before if "vis" in tensor]
        assert eyes
        assert all(mx.array_equal(before[tensor], after[tensor]) for tensor in eyes)
        assert bench.appraise(tmp_path / name).vision
        assert (tmp_path / name / "preprocessor_config.json").is_file()


def test_sidecars_and_templates_come_along(opened, bench, tmp_path, tiny_checkpoints):
    source = tmp_path / "source"
    shutil.copytree(tiny_checkpoints / "qwen35-text", source)
    for name in ("optiq_vision.safetensors", "LICENSE", "README.md", "kv_config.json"):
        (source / name).write_text("{}")
    (source / "additional_chat_templates").mkdir()
    (source / "additional_chat_templates" / "tool_use.jinja").write_text("hi")
    (source / "custom.py").write_text("raise SystemExit")
    before = (source / "config.json").read_bytes()
    write(open_model(source, bench), tmp_path / "out", Choice(4, 64))
    kept = {
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()
    }
    assert kept >= {
        "optiq_vision.safetensors",
        "LICENSE",
        "README.md",
        "additional_chat_templates/tool_use.jinja",
    }
    assert "custom.py" not in kept
    assert (source / "config.json").read_bytes() == before


def test_a_draft_network_comes_along(opened, bench, tmp_path):
    draft = importlib.import_module("mlxp_core.loading.draft")
    model = opened("qwen35")
    if not any("mtp." in name for name in model.folder.tensors):
        pytest.skip("the checkpoint has no draft network")
    write(model, tmp_path / "out", Choice(4, 64))
    made = open_model(tmp_path / "out", bench)
    loaded = draft.load_draft(made.folder, made.family, made.config, dtype="float32")
    source = draft.load_draft(model.folder, model.family, model.config, dtype="float32")
    assert loaded is not None
    assert loaded.norm.weight.tolist() == pytest.approx(source.norm.weight.tolist(), abs=1e-2)


def test_bits_are_counted_with_their_scales(opened):
    modules = modules_of(network_part(opened("minicpm5")).module)
    assert bits_per_weight(modules, uniform(modules, Choice(4, 64))) == pytest.approx(4.5)
    assert bits_per_weight(modules, uniform(modules, Choice(4, 32, "mxfp4"))) == pytest.approx(4.25)
    assert bits_per_weight(modules, {module.path: None for module in modules}) == 16


def test_memory_stays_near_one_shard(bench, tmp_path, tiny_checkpoints):
    """A model of 256 MB of weights is packed with little more than a shard and its largest tensor in memory."""
    source = tmp_path / "wide"
    shutil.copytree(tiny_checkpoints / "minicpm5", source)
    config = json.loads((source / "config.json").read_text())
    config |= {"intermediate_size": 65536}
    (source / "config.json").write_text(json.dumps(config))
    arrays = dict(mx.load(str(source / "model.safetensors")))
    for name, array in arrays.items():
        if ".mlp." in name:
            shape = [65536 if length > 64 else length for length in array.shape]
            arrays[name] = mx.random.normal(shape).astype(mx.bfloat16) * 0.02
    mx.save_safetensors(str(source / "model.safetensors"), arrays, metadata={"format": "mlx"})
    whole = sum(array.nbytes for array in arrays.values())
    largest = max(array.nbytes for array in arrays.values())
    del arrays
    shard = largest // 2
    model = open_model(source, bench)
    mx.clear_cache()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    write(model, tmp_path / "out", Choice(4, 64), shard_bytes=shard)
    held = mx.get_peak_memory() - before
    assert whole > 8 * largest
    assert held <= shard + 4 * largest, (held / largest, whole / largest)
