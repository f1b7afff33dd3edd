"""The sketch's tokenizer and template, and a template that demands strict alternation."""

import json
from importlib.resources import files

import pytest
from msgspec import Struct

from mlxp_core.contracts import Expansion, Pixels, ThinkingFormat
from mlxp_core.errors import BadRequest
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


class Dots(Struct, frozen=True):
    """Shrinks an image to at most ``side`` by ``side`` dots, each one token."""

    placeholder: str = "<|reserved_4|>"
    each: str = "<|reserved_5|>"
    before: str = "<|reserved_6|>"
    after: str = "<|reserved_7|>."
    side: int = 4

    def prepare(self, image, digest):
        if image.width > 100 * image.height:
            raise BadRequest("the image is too wide")
        columns, rows = (min(length, self.side) for length in image.size)
        small = image.resize((columns, rows))
        return Pixels(
            values=small.tobytes(),
            shape=(rows, columns, 3),
            tokens=rows * columns,
            grid=(1, rows, columns),
            digest=digest,
        )

    def expand(self, pixels):
        return Expansion(self.each, before=self.before, after=self.after)


@pytest.fixture(scope="session")
def dots():
    return Dots


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
