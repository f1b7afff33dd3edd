"""What the exporter writes is what the server reads, and what the evaluation hears is what was said."""

import json

import mlx.core as mx
import pytest
from demo_model.codec import TURN_END
from demo_model.conversation import plain
from demo_model.drawing import Draw
from demo_model.evaluate import answer, request
from demo_model.export import export
from demo_model.mixture import conversation
from demo_model.render import prompt, said
from demo_model.scoring import judge
from demo_model.shape import LESS_ONE, Shape

from mlxp_core.loading import choose_family, load_frontend, open_folder
from mlxp_core.loading.network import load_network
from mlxp_core.plugins import build_registry, load_plugins, load_settings
from mlxp_core.testing.networks import Session, parameters, random_parameters
from mlxp_core.types import Finished, PluginSettings, Timing, Usage

SHAPE = Shape(
    hidden=64, layers=2, feedforward=128, heads=2, kv_heads=2, head_dim=32, key_heads=2, value_heads=2, key_dim=32, value_dim=32
)  # fmt: skip


@pytest.fixture(scope="module")
def registry():
    loaded = load_plugins(PluginSettings())
    return build_registry(loaded, load_settings(None, {}, {}, loaded.sections, absent=loaded.absent))


@pytest.fixture(scope="module")
def network(registry):
    """A random network, as it computes."""
    family = registry.families["qwen35"]
    made = family.build(family.config(SHAPE.config()))
    made.load_weights(list(random_parameters(made, 0).items()))
    return made


@pytest.fixture(scope="module")
def checkpoint(network, tmp_path_factory):
    """What the training would have written of it, in two files."""
    folder = tmp_path_factory.mktemp("checkpoint")
    stored = {}
    for name, value in parameters(network).items():
        less = value - 1 if name.endswith(LESS_ONE) else value
        stored[name] = less.swapaxes(1, 2) if name.endswith("conv1d.weight") else less
    names = sorted(stored)
    for place in range(2):
        part = {name: stored[name] for name in names[place::2]}
        mx.save_safetensors(str(folder / f"weights-{place}.safetensors"), part)
    (folder / "training.json").write_text(json.dumps({"shape": SHAPE.asdict(), "steps": 7}))
    return folder


@pytest.fixture(scope="module", params=[4, 8, 16])
def exported(request, checkpoint, tmp_path_factory):
    return request.param, export(checkpoint, tmp_path_factory.mktemp("exported"), bits=request.param)


def loaded(path, registry):
    folder = open_folder(path)
    family, config = choose_family(folder, registry.families)
    return load_network(folder, family, config, dtype="float32").model


def restored(path):
    """Return the tensors of a folder with whole matrices, and the largest step between two of their numbers."""
    stored = mx.load(str(path / "model.safetensors"))
    packing = json.loads((path / "config.json").read_text()).get("quantization", {})
    found, step = {}, {}
    for name, value in stored.items():
        if name.endswith((".scales", ".biases")):
            continue
        module = name.removesuffix(".weight")
        scales = stored.get(f"{module}.scales")
        if scales is None:
            found[name] = value
            continue
        biases = stored[f"{module}.biases"]
        found[name] = mx.dequantize(value, scales, biases, **packing)
        step[name] = mx.abs(scales).max().item()
    return found, step


def test_matrices_are_what_they_were_to_a_step(exported, network):
    bits, path = exported
    found, step = restored(path)
    own = parameters(network)
    assert found.keys() == own.keys()
    assert bool(step) == (bits < 16)
    for name, most in step.items():
        assert mx.abs(found[name] - own[name]).max().item() <= most
    if bits < 16:
        small = sum(own[name].size for name in own.keys() - step.keys())
        assert small < 0.05 * sum(value.size for value in own.values())


def test_the_server_computes_with_what_is_stored(exported, network, registry):
    bits, path = exported
    tokens = [list(range(40, 100))]
    family = registry.families["qwen35"]
    twin = family.build(family.config(SHAPE.config()))
    whole = parameters(network) if bits == 16 else restored(path)[0]
    twin.load_weights([(name, value.astype(mx.float32)) for name, value in whole.items()])
    expected = Session(twin).read(tokens)[0]
    found = Session(loaded(path, registry)).read(tokens)[0]
    assert mx.allclose(found, expected, rtol=0, atol=3e-5 * mx.abs(expected).max().item())


def test_mlx_lm_computes_the_same_from_the_folder(exported, registry):
    bits, path = exported
    if bits == 16:
        pytest.skip("a conversion is what MLX reads")
    utils = pytest.importorskip("mlx_lm.utils")
    theirs, _ = utils.load_model(path, model_config={"model_type": "qwen3_5"})
    theirs.set_dtype(mx.float32)
    tokens = list(range(40, 100))
    expected = theirs(mx.array([tokens]))[0]
    found = Session(loaded(path, registry)).read([tokens])[0]
    assert mx.allclose(found, expected, rtol=0, atol=3e-5 * mx.abs(expected).max().item())


def test_nothing_is_left_to_chance(exported, registry):
    _, path = exported
    info = load_frontend(open_folder(path), registry).info
    assert info.defaults.temperature == 0
    assert info.context == SHAPE.context


@pytest.fixture(scope="module")
def frontend(checkpoint, registry, tmp_path_factory):
    return load_frontend(open_folder(export(checkpoint, tmp_path_factory.mktemp("front"), bits=8)), registry)


@pytest.mark.parametrize("number", range(60))
def test_a_request_asks_as_training_did(frontend, number):
    made = conversation(Draw(f"request {number}"))
    asked = frontend.prepare(request(made, number))
    assert frontend.tokenizer.decode(list(asked.tokens)) == plain(prompt(made))


@pytest.mark.parametrize("number", range(60))
def test_the_right_answer_is_heard_as_right(frontend, number):
    made = conversation(Draw(f"answer {number}", held=number % 2 == 0))
    last = made.turns[-1]
    text = plain((f"{last.thought}\n</think>\n\n" if made.thinking and last.thought else "") + said(last))
    asked = request(made, number)
    reader = frontend.reader(asked, frontend.prepare(asked), 0)
    events = []
    for token in [*frontend.tokenizer.encode(text), TURN_END]:
        events += reader.feed(token)
    assert reader.end
    more, end = reader.finish("stop")
    told = [*events, *more, Finished(end.reason, Usage(), Timing(), warnings=tuple(reader.warnings))]
    heard, ended = answer(told)
    assert judge(made, heard, ended=ended) == (True, True)
