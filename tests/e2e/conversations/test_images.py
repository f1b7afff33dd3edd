"""Images, on every surface, with checkpoints that have eyes for two colours: red picks one script, blue another.

So an answer tells that the very image that was sent was opened, brought to size, looked at, and put where it belongs.
"""

import json
from functools import partial

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten
from PIL import Image
from tokenizers import Tokenizer

from mlxp_core.testing.pictures import encoded
from mlxp_gemma4.eyes import config as gemma4_config
from mlxp_gemma4.eyes.tower import Tower as Gemma4Tower
from mlxp_qwen35.eyes import config as qwen35_config
from mlxp_qwen35.eyes.tower import Tower as Qwen35Tower

SIDECAR = "optiq_vision.safetensors"
NOTHING, CALL, BLUE, RED = range(4)
HIDDEN = 24
LOOK = {"name": "look", "description": "Look around.", "parameters": {"type": "object", "properties": {}}}

QWEN35 = {
    "model_type": "qwen3_5",
    "depth": 1,
    "hidden_size": HIDDEN,
    "intermediate_size": 8,
    "num_heads": 2,
    "patch_size": 16,
    "num_position_embeddings": 4,
}
GEMMA4 = {
    "model_type": "gemma4_vision",
    "hidden_size": HIDDEN,
    "intermediate_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "head_dim": 12,
    "patch_size": 4,
    "position_embedding_size": 36,
    "default_output_length": 12,
    "standardize": True,
}


def qwen35_eyes(raw, red, blue):
    """Return a tower's tensors: how much redder than blue is all that patches say, and its sign all that is told."""
    raw["vision_config"] = {**QWEN35, "out_hidden_size": len(red)}
    tower = blank(Qwen35Tower(qwen35_config.read(raw)))
    tower["patch_embed.weight"][0, ..., 0] = 1e-3
    tower["patch_embed.weight"][0, ..., 2] = -1e-3
    tower["merger.norm.weight"] += 1
    tower["merger.linear_fc1.weight"][0, 0] = 1
    tower["merger.linear_fc1.weight"][1, 0] = -1
    size = (HIDDEN - 1) ** 0.5  # of the one number that is not 0, normed
    tower["merger.linear_fc2.weight"][:, 0] = red / size
    tower["merger.linear_fc2.weight"][:, 1] = blue / size
    return tower


def gemma4_eyes(raw, red, blue):
    """Return a tower's tensors: beside a constant, how much redder than blue is all that is told."""
    raw["vision_config"] = GEMMA4
    tower = blank(Gemma4Tower(gemma4_config.read(raw)))
    pixels = GEMMA4["patch_size"] ** 2
    tower["input_proj.weight"][0, 0::3] = 1 / pixels
    tower["input_proj.weight"][0, 2::3] = -1 / pixels
    tower["std_scale"] += 1
    tower["std_bias"][1] = -2 * HIDDEN**0.5  # as large as what pure colours say
    size = (HIDDEN / 2) ** 0.5  # of two numbers of one size, normed
    features = len(red) ** 0.5  # of the language model, which scales its own embeddings so
    tower["embedding_projection.weight"][:, 0] = (red - blue) * features / (2 * size)
    tower["embedding_projection.weight"][:, 1] = (red + blue) * features / (2 * size)
    return tower


CALLS = {
    "qwen35": "<tool_call>\n<function=look>\n</function>\n</tool_call>",
    "gemma4": "<|tool_call>call:look{}<tool_call|>",
}
EYES = {"qwen35": qwen35_eyes, "gemma4": gemma4_eyes}


def blank(network):
    """Return the names of parameters and zeros."""
    return {name: mx.zeros(value.shape) for name, value in tree_flatten(network.parameters())}


def open_eyes(family, folder, picks):
    """Give a checkpoint eyes that see the picks of two scripts."""
    raw = json.loads((folder / "config.json").read_text())
    weights = mx.load(str(folder / "model.safetensors"))
    (table,) = (value for name, value in weights.items() if name.endswith("embed_tokens.weight"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    red, blue = (
        table[tokenizer.encode(picks[colour], add_special_tokens=False).ids[-1]] for colour in (RED, BLUE)
    )
    tower = EYES[family](raw, red, blue)
    mx.save_safetensors(
        str(folder / SIDECAR), {f"vision_tower.{name}": value for name, value in tower.items()}
    )
    (folder / "config.json").write_text(json.dumps(raw))


@pytest.fixture(scope="module")
def painted():
    """Paint a PNG file all red or all blue."""
    colours = {RED: (255, 0, 0), BLUE: (0, 0, 255)}
    return lambda colour, size=(48, 32): encoded(Image.new("RGB", size, colours[colour]))


@pytest.fixture(scope="module", params=EYES)
def seeing(request, puppets, live, tmp_path_factory, clients):
    """The clients of a server whose model tells two colours apart."""
    folder = tmp_path_factory.mktemp("seeing") / request.param
    nothing, blue, red = ([puppets.Words(text)] for text in ("I see nothing.", "It is blue.", "It is red."))
    puppets.make(request.param, [nothing, [puppets.Cut(CALLS[request.param], 2)], blue, red], folder)
    open_eyes(request.param, folder, {colour: puppets.pick_char(colour) for colour in (BLUE, RED)})
    with live(folder) as served:
        yield clients(served.url)


@pytest.fixture
def own(seeing, surface):
    """The client of one surface."""
    return seeing[surface]


@pytest.fixture
def ask(own, stream):
    return partial(own.ask, stream=stream, thinking=False, limit=30)


def test_the_image_is_seen(own, ask, painted):
    told = [ask(own.user("What is it?", painted(colour))) for colour in (RED, BLUE)]
    assert [answer.text for answer in told] == ["It is red.", "It is blue."]
    blind = ask(own.user("What is it?"))
    assert blind.text == "I see nothing."
    assert all(answer.prompt > blind.prompt for answer in told), "images are counted"


def test_of_several_images_all_are_seen(own, ask, painted):
    one = ask(own.user("What is it?", painted(BLUE)))
    several = ask(own.user("What is it?", painted(BLUE), painted(RED, (64, 64)), painted(BLUE)))
    assert several.text == "It is red.", "of two scripts the later one counts"
    assert several.prompt > one.prompt


def test_what_was_seen_earlier_is_still_there(own, ask, painted):
    turns = own.user("What is it?", painted(RED))
    turns += [*own.again(ask(turns)), *own.user("And now?")]
    assert ask(turns).text == "It is red."


def test_what_a_tool_shows_is_seen(own, ask, painted, puppets):
    turns = own.user(f"Look around. {puppets.pick_char(CALL)}")
    asked = ask(turns, tools=[LOOK])
    assert [(name, json.loads(given)) for _, name, given in asked.calls] == [("look", {})]
    turns += [*own.again(asked), *own.results(asked, "Here:", painted(RED))]
    assert ask(turns, tools=[LOOK]).text == "It is red."
