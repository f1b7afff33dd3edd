"""What cannot be done is refused by name."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec import Raw, Struct

from mlxp_core.contracts import ConstraintKind, SamplerStage, ToolFormat
from mlxp_core.desk.capabilities import check
from mlxp_core.errors import BadRequest
from mlxp_core.types import (
    PIECES,
    Capabilities,
    GenerateRequest,
    Grammar,
    ImageBytes,
    ImageUrl,
    Message,
    ModelInfo,
    OutputShape,
    Result,
    Sampling,
    Text,
    ToolChoice,
    ToolSpec,
    Written,
)

ADD = ToolSpec("add")


class Knobs(Struct):
    width: int


def never(*_):
    raise AssertionError("nothing is built here")


STAGE = SamplerStage(name="curve", order=1, params=Knobs, build=never)
OFFER = SimpleNamespace(sampler_stages={"curve": STAGE}, constraints={})
HOLDING = SimpleNamespace(sampler_stages={}, constraints={PIECES: ConstraintKind(name=PIECES, compile=never)})


def ask(offer=OFFER, markup=None, can=None, **fields):
    model = ModelInfo(
        id="m",
        path=Path("m"),
        family="f",
        context=9,
        vocabulary=50,
        weight_bytes=0,
        capabilities=can or Capabilities(),
    )
    request = GenerateRequest(id="r", model="m", **{"prompt": "hi", **fields})
    return check(request, model, offer, markup)


def messages(*parts):
    return {"prompt": (Message("user", parts),)}


def stages(**bodies):
    return {"sampling": Sampling(stages={name: Raw(body) for name, body in bodies.items()})}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"thinking_budget": -1}, "thinking_budget"),
        ({"choices": 0}, "choices"),
        ({"choices": 9}, "choices"),
        ({"top_scores": 21}, "top_scores"),
        ({"sampling": Sampling(logit_bias={50: 1.0})}, "logit_bias"),
        ({"sampling": Sampling(logit_bias={-1: 1.0})}, "logit_bias"),
        (messages(ImageBytes(b"x")), "prompt"),
        (messages(Result("c", (ImageBytes(b"x"),))), "prompt"),
        (stages(bend=b"{}"), "stages.bend"),
        (stages(curve=b'{"width": "wide"}'), "stages.curve"),
        ({"tools": (ADD,)}, "tools"),
        ({"tool_choice": ToolChoice("required")}, "tool_choice"),
        ({"output": OutputShape("regex")}, "output"),
    ],
)
def test_it_is_refused_by_the_fields_name(fields, param):
    with pytest.raises(BadRequest) as caught:
        ask(**fields)
    assert caught.value.param == param


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"prompt": (1, 2, 3)},
        messages(Text("hi")),
        stages(curve=b'{"width": 3}'),
        {"tools": (ADD,), "tool_choice": ToolChoice("none")},
        {"choices": 8, "top_scores": 20, "max_tokens": 1},
        {"sampling": Sampling(logit_bias={0: 1.0, 49: -1.0})},
    ],
)
def test_what_can_be_done_passes(fields):
    assert ask(**fields) == OutputShape()


def test_a_model_that_sees_takes_sixteen_images():
    can = Capabilities(vision=True)
    half = [ImageBytes(b"x")] * 8
    ask(can=can, **messages(*half, Result("c", (*half[:7], ImageUrl("http://host/x.png")))))
    with pytest.raises(BadRequest, match="may have 16 images, not 17"):
        ask(can=can, **messages(*half, ImageBytes(b"y"), Result("c", tuple(half))))


def test_a_tool_that_is_not_there_cannot_be_chosen():
    with pytest.raises(BadRequest, match=r"'mul'.*add"):
        ask(can=Capabilities(tools=True), tools=(ADD,), tool_choice=ToolChoice("one", "mul"))


CALLS = Grammar(Written("<add>"))
PLAIN = ToolFormat(name="t", openers=("<",), parser=never)
FORCING = ToolFormat(name="t", openers=("<",), parser=never, grammar=lambda *_: CALLS)
FORCED = {"can": Capabilities(tools=True), "tools": (ADD,), "tool_choice": ToolChoice("required")}


def test_a_call_is_forced_by_a_shape():
    assert ask(offer=HOLDING, markup=FORCING, **FORCED) == CALLS.shape()


@pytest.mark.parametrize(("markup", "offer"), [(None, HOLDING), (PLAIN, HOLDING), (FORCING, OFFER)])
def test_a_call_that_cannot_be_forced_is_refused(markup, offer):
    with pytest.raises(BadRequest) as caught:
        ask(offer=offer, markup=markup, **FORCED)
    assert caught.value.param == "tool_choice"
