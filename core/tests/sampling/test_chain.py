"""From a request's settings to what is done with a row."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, Struct

from mlxp_core.contracts import SamplerStage
from mlxp_core.errors import BadRequest
from mlxp_core.sampling import check_stages
from mlxp_core.sampling.chain import NEUTRAL, ORDERS, plan
from mlxp_core.types import Sampling


class Gain(Struct, frozen=True, forbid_unknown_fields=True):
    gain: float = 1.0


def stage(name="gain", order=150, replaces=()):
    return SamplerStage(
        name=name,
        order=order,
        params=Gain,
        build=lambda settings: lambda logits: logits,
        replaces=frozenset(replaces),
    )


def chain(sampling, *stages, size=1000):
    return plan(sampling, {one.name: one for one in stages}, size=size)


def test_nothing_said_is_plain_sampling():
    assert chain(Sampling()).rest == NEUTRAL
    assert chain(Sampling()).route == "plain"


@pytest.mark.parametrize(
    "off",
    [
        Sampling(top_p=0.0),
        Sampling(top_p=1.0),
        Sampling(top_k=0),
        Sampling(top_k=1000),
        Sampling(top_k=10**9),
        Sampling(min_p=0.0),
        Sampling(temperature=1.0),
    ],
)
def test_each_spelling_of_off_is_off(off):
    assert chain(off).rest == NEUTRAL


@pytest.mark.parametrize(
    ("sampling", "route"),
    [
        (Sampling(temperature=0.0, top_p=0.5, top_k=3), "greedy"),
        (Sampling(temperature=1e-30), "greedy"),
        (Sampling(top_k=64, top_p=0.95), "narrow"),
        (Sampling(top_k=65), "medium"),
        (Sampling(top_k=513), "sorted"),
        (Sampling(top_p=0.9), "sorted"),
        (Sampling(min_p=0.1, temperature=2.0), "plain"),
    ],
)
def test_the_cheapest_exact_route_is_taken(sampling, route):
    assert chain(sampling).route == route


def test_settings_of_stages_are_decoded_by_their_owner():
    sampling = Sampling(stages={"gain": Raw(b'{"gain": 2.5}')})
    assert check_stages(sampling, {"gain": stage()}) == {"gain": Gain(2.5)}


def test_an_unknown_stage_is_refused_by_name():
    with pytest.raises(
        BadRequest, match=r"'gian' is not installed; did you mean 'gain'\? installed: gain, other"
    ):
        check_stages(Sampling(stages={"gian": Raw(b"{}")}), {"gain": stage(), "other": stage("other")})
    with pytest.raises(BadRequest, match="installed: none"):
        check_stages(Sampling(stages={"gain": Raw(b"{}")}), {})


@pytest.mark.parametrize("body", [b'{"gain": "much"}', b'{"loss": 1}', b"[]", b"{"])
def test_settings_that_do_not_fit_are_refused(body):
    with pytest.raises(BadRequest, match="sampler stage 'gain'") as refused:
        check_stages(Sampling(stages={"gain": Raw(body)}), {"gain": stage()})
    assert refused.value.param == "stages.gain"


def test_a_stage_replaces_what_it_says():
    asked = Sampling(temperature=0.0, top_p=0.5, top_k=5, min_p=0.1, stages={"gain": Raw(b"{}")})
    replaced = chain(asked, stage(replaces=ORDERS))
    assert replaced.rest == NEUTRAL
    assert replaced.route == "plain"  # it answers for the temperature, even for 0
    assert chain(asked, stage(replaces=["top_k"])).rest.top_k == 0
    assert chain(asked, stage(replaces=["top_k"])).route == "greedy"


@given(order=st.integers(0, 700))
def test_standard_stages_up_to_the_plugins_place_come_first(order):
    asked = Sampling(temperature=2.0, top_p=0.5, top_k=5, min_p=0.1, stages={"gain": Raw(b"{}")})
    made = chain(asked, stage(order=order))
    early = [slot.name for slot in made.whole]
    assert early == [name for name, place in ORDERS.items() if place <= order] + ["gain"]
    assert made.rest.active == frozenset(ORDERS) - frozenset(early)


@given(st.permutations([("b", 150), ("a", 150), ("c", 90), ("d", 450)]))
def test_order_decides_and_neither_requests_nor_registration(pairs):
    asked = Sampling(stages={name: Raw(b"{}") for name, _ in pairs})
    made = chain(asked, *(stage(name, order) for name, order in reversed(pairs)))
    assert [slot.name for slot in made.whole] == ["c", "a", "b", "d"]


def test_checking_stages_needs_no_arrays():
    code = "import sys, mlxp_core.sampling; sys.exit('mlx' in sys.modules or 'mlx.core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
