"""The templates of the real families, rendered to the letter and to the token."""

import json
from pathlib import Path

import pytest

from mlxp_core.errors import BadRequest
from mlxp_core.prompting import ChatTemplate, Tokenizer

FAMILIES = {"gemma4": "<bos>", "qwen35": None, "minicpm5": "<s>"}


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, shared):
    folder = shared / "assets" / request.param
    golden = json.loads((folder / "template_renders.json").read_text())
    begin = FAMILIES[request.param]
    return folder, golden, {} if begin is None else {"bos_token": begin}


@pytest.fixture(scope="module")
def encode(family):
    file: Path = family[0] / "tokenizer.json"
    return Tokenizer(file.read_bytes()).encode if file.exists() else None


def test_every_render_is_reproduced(family, encode):
    folder, golden, tokens = family
    compared = 0
    for name, renders in golden["renders"].items():
        template = ChatTemplate((folder / name).read_text(), tokens=tokens)
        for case, expected in renders.items():
            arguments = dict(golden["cases"][case])
            messages, tools = arguments.pop("messages"), arguments.pop("tools", [])
            prime = arguments.pop("add_generation_prompt", True)
            where = f"{name}, case {case}"
            if "error" in expected:
                with pytest.raises(BadRequest) as caught:
                    template.render(messages, tools=tools, prime=prime, extras=arguments)
                assert expected["error"].split(": ", 1)[1] in caught.value.message, where
                continue
            text = template.render(messages, tools=tools, prime=prime, extras=arguments)
            assert text == expected["text"], where
            compared += 1
            if "ids" in expected:
                assert encode(text) == expected["ids"], where
    assert compared >= len(golden["renders"]) * (len(golden["cases"]) - 2)
