"""Whatever is sent to the paths of jobs, the answer is no fault of the server's, and says what is wrong."""

from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlxp_core.testing.client import serve
from mlxp_lab.plugin import LabPlugin

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9)
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
nothing = st.sampled_from(["no/such", "", "..", "x" * 5000, "a\0", "ä", "--help", "/", "~nobody/x"])
"""Names and paths of nothing that there is, so that no job is begun."""

ids = st.sampled_from(["job_0", "kinds", "..", "a/b", "x" * 300, "a\0", "ä", "0"])
parameters = st.fixed_dictionaries(
    {"model": nothing | anything},
    optional={
        "data": nothing | anything,
        "adapters": st.lists(nothing, max_size=2) | anything,
        "output": nothing | anything,
        "bits": st.integers(0, 9) | anything,
        "target_bpw": st.floats(-1, 20) | anything,
        "method": st.sampled_from(["sft", "dpo", "magic"]) | anything,
        "template": st.just("nothing") | anything,
        "steps": st.integers(-1, 3) | anything,
    },
)
job = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["quantize", "train", "bench", "merge", "fuse", "generate", "no such"])
        | anything
    },
    optional={
        "parameters": parameters | anything,
        "chat": st.sampled_from(["first", "waits", "never"]) | anything,
        "more": anything,
    },
)
ASKED = st.one_of(
    st.tuples(st.just("POST"), st.just("/api/jobs"), job | anything),
    st.tuples(
        st.just("POST"),
        st.sampled_from(["/api/quantize/inspect", "/api/train/inspect"]),
        parameters | anything,
    ),
    st.tuples(
        st.sampled_from(["GET", "DELETE"]),
        st.tuples(
            st.sampled_from(["/api/jobs/{}", "/api/quantize/report/{}", "/api/jobs/{}/stream"]), ids
        ).map(lambda two: two[0].format(quote(two[1], safe=""))),
        st.none(),
    ),
    st.tuples(
        st.just("POST"),
        st.tuples(ids, st.sampled_from(["cancel", "resume", "retry"])).map(
            lambda two: f"/api/jobs/{quote(two[0], safe='')}/{two[1]}"
        ),
        st.none() | anything,
    ),
    st.tuples(
        st.just("GET"),
        st.text(max_size=5).map(lambda text: f"/api/jobs?limit={quote(text)}&kind={quote(text)}"),
        st.none(),
    ),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    flags = {"lab": {"folder": str(tmp_path_factory.mktemp("fuzz") / "lab")}}
    with serve([], plugins=[("lab", LabPlugin())], flags=flags) as served:
        yield served.client


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked=ASKED)
def test_no_request_is_the_servers_fault(client, asked):
    method, path, told = asked
    answer = client.request(method, path, json=told)
    assert answer.status_code < 500, (asked, answer.text)
    if not answer.is_success:
        assert answer.json()["error"]["message"]
    assert client.get("/api/jobs").json() == {"jobs": []}
