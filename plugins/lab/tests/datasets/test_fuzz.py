"""Whatever is sent to the paths of datasets, the answer is no fault of the server's, and says what is wrong."""

from urllib.parse import quote, urlencode

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
names = st.sampled_from(["here", "new", "", "..", "a/b", "x" * 200, "a\0", "ä"])
paths = names.map(lambda name: f"/api/datasets/{quote(name, safe='')}")
words = st.sampled_from(["train", "test", "0", "7", "-1", "9" * 30, "²"]) | st.text(max_size=5)
texts = st.sampled_from(
    ['{"text": "a"}\n', "a,b\n1,2\n", '[{"text": "a"}]', "", "{", "prompt,completion\na,b\n"]
)
shares = st.floats(-0.5, 1.5) | anything
rows = st.fixed_dictionaries({}, optional={"text": anything, "messages": anything, "prompt": anything})
edits = st.fixed_dictionaries({}, optional={"line": st.integers(-2, 9) | anything, "row": rows | anything})


def body(**fields):
    """Return a strategy of bodies in which any field may be missing, or anything."""
    return (
        st.fixed_dictionaries({}, optional={name: field | anything for name, field in fields.items()})
        | anything
    )


ASKED = st.one_of(
    st.tuples(
        st.just("POST"),
        st.just("/api/datasets"),
        body(
            name=names,
            format=st.sampled_from(["jsonl", "json", "csv", "parquet"]),
            text=texts,
            base64=texts,
            columns=st.dictionaries(st.sampled_from(["text", "prompt", "user"]), st.sampled_from(["a", "b"])),
            valid=shares,
            replace=st.booleans(),
        ),
    ),
    st.tuples(
        st.just("POST"),
        paths.map(lambda path: f"{path}/rows"),
        body(
            split=st.sampled_from(["train", "test"]),
            version=st.text(max_size=3),
            edits=st.lists(edits, max_size=3),
        ),
    ),
    st.tuples(
        st.just("POST"),
        paths.map(lambda path: f"{path}/split"),
        body(valid=shares, test=shares, seed=st.integers()),
    ),
    st.tuples(
        st.just("POST"),
        paths.map(lambda path: f"{path}/clean"),
        body(near=shares, shortest=st.integers(), really=st.booleans()),
    ),
    st.tuples(
        st.just("GET"),
        st.tuples(paths, words, words, words).map(
            lambda four: (
                f"{four[0]}/rows?{urlencode(dict(zip(('split', 'offset', 'limit'), four[1:], strict=True)))}"
            )
        ),
        st.none(),
    ),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    flags = {"lab": {"folder": str(tmp_path_factory.mktemp("fuzz") / "lab")}}
    with serve([], plugins=[("lab", LabPlugin())], flags=flags) as served:
        asked = {"name": "here", "format": "jsonl", "text": '{"text": "a"}\n{"text": "b"}\n'}
        assert served.client.post("/api/datasets", json=asked).is_success
        yield served.client


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked=ASKED)
def test_no_request_is_the_servers_fault(client, asked):
    method, path, told = asked
    answer = client.request(method, path, json=told)
    assert answer.status_code < 500, (asked, answer.text)
    if not answer.is_success:
        assert answer.json()["error"]["message"]
