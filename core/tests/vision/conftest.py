"""A stranger's family that sees, and folders of its models."""

import importlib
from pathlib import Path
from types import SimpleNamespace

import mlx.core as mx
import pytest

from mlxp_core.loading import choose_family, load_frontend, open_folder
from mlxp_core.loading.sketch import write_sketch

TEMPLATE = """
{%- for message in messages -%}
    {{- '<|im_start|>' ~ message.role ~ '\n' -}}
    {%- if message.content is string -%}{{ message.content }}
    {%- else -%}
        {%- for part in message.content -%}
            {{- part.text if part.type == 'text' else '<|reserved_4|>' -}}
        {%- endfor -%}
    {%- endif -%}
    {{- '<|im_end|>\n' -}}
{%- endfor -%}
{{- '<|im_start|>assistant\n' if add_generation_prompt -}}
"""
CONFIG = {"model_type": "seer", "vocab_size": 384, "hidden_size": 32, "vision_config": {"side": 4}}
TEXT = {
    "table.weight": (384, 32),
    **{f"{name}.weight": (32, 32) for name in "qkvo"},
    "head.weight": (384, 32),
}
EYE = {"eye.colour.weight": (32, 3), "eye.place": (16, 32)}


@pytest.fixture(scope="session")
def seer():
    """The plugin, as if its package were installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent / "stranger"))
        yield importlib.import_module("seer")


@pytest.fixture(scope="session")
def brought(seer):
    """What plugins would bring."""
    return SimpleNamespace(
        families={family.name: family for family in seer.mlxp_model_families()},
        tool_formats={},
        thinking_formats={},
        vision_towers={tower.name: tower for tower in seer.mlxp_vision_towers()},
    )


@pytest.fixture
def seer_config():
    return CONFIG


@pytest.fixture
def write(tmp_path):
    """Write the folder of a seer; ``beside`` puts the eyes into a file of their own."""

    def write(*, beside=False, shapes=EYE, template=TEMPLATE, **config):
        whole = {**CONFIG, "eos_token_id": [1, 25], "max_position_embeddings": 512, **config}
        folder = write_sketch(tmp_path / "seer", config=whole, shapes={**TEXT, **shapes})
        (folder / "chat_template.jinja").write_text(template, "utf-8")
        if beside:
            tensors = mx.load(str(folder / "model.safetensors"))
            mx.eval(list(tensors.values()))  # read before the file is written anew
            eyes = {name: tensors.pop(name) for name in shapes}
            mx.save_safetensors(str(folder / "model.safetensors"), tensors)
            mx.save_safetensors(str(folder / "eyes.safetensors"), eyes)
        return folder

    return write


@pytest.fixture
def loaded(brought):
    """Return a folder's parts: what the core makes of it."""

    def loaded(path):
        folder = open_folder(path)
        family, config = choose_family(folder, brought.families)
        return SimpleNamespace(
            folder=folder, family=family, config=config, frontend=load_frontend(folder, brought)
        )

    return loaded
