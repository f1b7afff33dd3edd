"""The sketch's tokenizer and template, and a template that demands strict alternation."""

import json
from importlib.resources import files

import pytest

from mlxp_core.contracts import ThinkingFormat
from mlxp_core.loading.sketch_tokenizer import sketch_tokenizer
from mlxp_core.prompting import ChatTemplate, Tokenizer

STRICT = """
{%- if messages[0].role == 'system' %}{{ raise_exception('no system messages') }}{% endif -%}
{%- for message in messages -%}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) -%}
        {{- raise_exception('roles must alternate') -}}
    {%- endif -%}
    {{- '[' ~ message.role ~ ']' ~ message.content ~ '\n' -}}
{%- endfor -%}
{{- '[assistant]' if add_generation_prompt -}}
"""


@pytest.fixture(scope="session")
def tokenizer():
    return Tokenizer(json.dumps(sketch_tokenizer()).encode(), size=384, begin="<s>", begins=True)


@pytest.fixture(scope="session")
def template():
    source = files("mlxp_core.loading").joinpath("sketch.jinja").read_text("utf-8")
    return ChatTemplate(source, tokens={"bos_token": "<s>"})


@pytest.fixture(scope="session")
def strict():
    return ChatTemplate(STRICT)


@pytest.fixture(scope="session")
def thinking():
    return ThinkingFormat(name="think", open="<think>", close="</think>", switch="enable_thinking")
