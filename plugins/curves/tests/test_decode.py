"""What bodies mean."""

import json
import math

import msgspec
import pytest

from mlxp_core.contracts import Endpoint
from mlxp_core.errors import BadRequest
from mlxp_core.types import Message, Text, WireRequest
from mlxp_curves.curve import Curve
from mlxp_curves.decode import CurveDecoder
from mlxp_curves.hlg import Hlg
from mlxp_curves.junk import is_junk
from mlxp_curves.protocol import make_protocol

DECODER = CurveDecoder(lambda: "curve-1", lambda _: None)
POINTS = {"points": [{"x_pct": 1, "y_pct": 2}, {"x_pct": 100, "y_pct": 100}]}


def generate(**body):
    return DECODER.generate(WireRequest(body=json.dumps({"prompt": "hi", **body}).encode()))


def signal(**body):
    return DECODER.signal(WireRequest(body=json.dumps({"prompt": "hi", **body}).encode())).question


def test_a_prompt_is_one_message_of_a_user():
    said = (Message("user", (Text("hi"),)),)
    assert generate().request.prompt == said
    assert signal().prompt == said


@pytest.mark.parametrize(("asked", "given"), [(None, 3), (0, 1), (-5, 1), (1, 1), (8, 8), (9, 8), (2**62, 8)])
def test_samples_are_a_few(asked, given):
    assert generate(n=asked).request.choices == given


@pytest.mark.parametrize(("asked", "given"), [(None, 80), (0, 1), (90, 90), (256, 256), (257, 256)])
def test_samples_are_short(asked, given):
    assert generate(max_tokens=asked).request.max_tokens == given


@pytest.mark.parametrize(("asked", "given"), [(None, None), (7, 7), (2**32 + 5, 5), (-1, 2**32 - 1)])
def test_seeds_have_32_bits(asked, given):
    assert generate(seed=asked).request.sampling.seed == given


def test_a_curve_becomes_its_stage():
    stages = generate(curve=POINTS).request.sampling.stages
    assert list(stages) == ["curve"]
    assert msgspec.json.decode(stages["curve"], type=Curve) == msgspec.convert(POINTS, Curve)


def test_hlg_becomes_its_stage():
    stages = generate(hlg={"width": 2}).request.sampling.stages
    assert {name: msgspec.json.decode(raw, type=Hlg) for name, raw in stages.items()} == {"hlg": Hlg(width=2)}


def test_the_default_is_the_servers():
    assert generate().request.sampling.stages == {}
    assert generate(curve=POINTS, default=True).request.sampling.stages == {}


def test_a_signal_has_80_bins_down_to_a_millionth():
    asked = signal()
    assert (asked.bins, asked.lowest, asked.likeliest) == (80, math.log(1e-6), 0)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"prompt": ""}, "prompt"),
        ({"prompt": 7}, "prompt"),
        ({"n": "three"}, "n"),
        ({"curve": {"points": [{"x_pct": 1, "y_pct": 1}]}}, "curve.points"),
        ({"curve": {"points": [{"x_pct": 1, "y_pct": 2}, {"x_pct": 2, "y_pct": 1}]}}, "curve"),
        (
            {"curve": {"points": [{"x_pct": 1, "y_pct": 2}, {"x_pct": 2, "y_pct": 101}]}},
            "curve.points[1].y_pct",
        ),
        ({"curve": POINTS, "hlg": {}}, "hlg"),
    ],
)
def test_errors_name_the_field(body, param):
    with pytest.raises(BadRequest) as caught:
        generate(**body)
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("text", "junk"),
    [
        ("", False),
        ("42!", False),
        ("Plain words, naïve café, Łódź.", False),
        ("broken \ufffd", True),
        ("with <unused12> in it", True),
        ("<unused> in it", False),
        ("日本", True),
        ("x" * 98 + "日", False),
        ("x" * 49 + "日", True),
        ("привет", True),
    ],
)
def test_junk(text, junk):
    assert is_junk(text) is junk


def test_the_paths_of_old_read_the_same():
    endpoints = {each.path: each for each in make_protocol(DECODER).endpoints}
    for name in ("generate", "signal"):
        assert endpoints[f"/{name}"].decode == endpoints[f"/v1/curves/{name}"].decode
    assert isinstance(endpoints["/generate"], Endpoint)
