"""Laws of fetching, against a hub on this machine: however it misbehaves, what is in place is right."""

import hashlib
import threading

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from mlxp_hub.download import SPARE_BYTES, Download
from mlxp_hub.errors import HubError
from mlxp_hub.library import downloaded, home
from mlxp_hub.refs import Ref
from mlxp_hub.transfer import PARTIAL, PATIENCE, Stopped

REF = Ref("owner/tiny")
WEIGHTS = bytes(range(256)) * 64
FILES = {
    "config.json": b'{"model_type": "tiny"}',
    "tokenizer.json": b'{"model": {}}',
    "model.safetensors": WEIGHTS,
    "chat_template.jinja": b"{{ messages }}",
    "README.md": b"# tiny",
    "model.gguf": b"the same again",
    "consolidated.safetensors": b"the same again, elsewhere",
    "onnx/model.json": b"{}",
    "1_Pooling/config.json": b"{}",
}
WANTED = {
    "config.json",
    "tokenizer.json",
    "model.safetensors",
    "chat_template.jinja",
    "1_Pooling/config.json",
}
DIGEST = hashlib.sha256(WEIGHTS).hexdigest()


@pytest.fixture
def tiny(hub):
    hub.add("owner/tiny", FILES)
    return hub


@pytest.fixture
def fetch(settings, log):
    """Fetch a model; pauses between attempts take no time."""

    def run(ref=REF, *, verify=False, **more):
        return Download(ref, settings, log, pause=lambda _: None, **more).run(verify=verify)

    return run


@pytest.fixture
def broken_off(tiny, fetch, trouble, cache):
    """Fetch weights of which so many bytes are here, over a line that breaks after so many."""

    def run(cuts, kept):
        blobs = home(cache, "owner/tiny") / "blobs"
        blobs.mkdir(parents=True, exist_ok=True)
        for blob in blobs.iterdir():
            blob.unlink()
        (blobs / f"{DIGEST}{PARTIAL}").write_bytes((WEIGHTS + bytes(10))[:kept])
        tiny.goes_wrong("model.safetensors", *(trouble(cut=cut) for cut in cuts))
        return fetch()

    return run


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def leftovers(cache):
    return [path.name for path in home(cache, "owner/tiny").rglob(f"*{PARTIAL}")]


def test_what_a_server_reads_is_fetched_and_nothing_else(tiny, fetch, log, cache):
    folder = fetch()
    assert content(folder) == {path: FILES[path] for path in WANTED}
    assert sorted(log.arrivals) == sorted(WANTED)
    assert sum(log.moved_bytes.values()) == sum(len(FILES[path]) for path in WANTED)
    assert leftovers(cache) == []


def test_the_folder_is_laid_out_as_other_programs_do(tiny, fetch, cache):
    folder = fetch()
    (model,) = downloaded(cache)
    assert (model.repo, model.refs, model.path) == ("owner/tiny", ("main",), folder)
    weights = folder / "model.safetensors"
    assert weights.is_symlink()
    assert not weights.readlink().is_absolute()
    assert weights.resolve().name == DIGEST


def test_nothing_is_fetched_twice(tiny, fetch, log):
    fetch()
    tiny.asked.clear()
    fetch()
    assert tiny.asked == []
    assert log.found_bytes["model.safetensors"] == len(WEIGHTS)


def test_the_key_goes_to_the_hub_and_to_no_other_host(tiny, fetch):
    fetch()
    (at_hub,) = tiny.fetched("hub:model.safetensors")
    (elsewhere,) = tiny.fetched("model.safetensors")
    assert at_hub["authorization"] == "Bearer secret"
    assert "authorization" not in elsewhere


def test_a_new_revision_shares_what_is_the_same(tiny, fetch, cache):
    first = fetch()
    commit = "f" * 40
    tiny.add("owner/tiny", {**FILES, "config.json": b'{"model_type": "other"}'}, commit=commit)
    tiny.asked.clear()
    second = fetch()
    assert {path for path, _ in tiny.asked} == {"config.json"}
    assert (second.name, (second / "model.safetensors").resolve()) == (
        commit,
        (first / "model.safetensors").resolve(),
    )
    assert {model.refs for model in downloaded(cache)} == {(), ("main",)}


def test_a_revision_may_be_named(tiny, fetch, cache):
    tiny.add("owner/tiny", FILES, commit="e" * 40, revisions=("v1.0", "refs/pr/1"))
    assert fetch(Ref("owner/tiny", "v1.0")).name == "e" * 40
    assert {model.refs for model in downloaded(cache)} == {("v1.0",)}
    assert fetch(Ref("owner/tiny", "e" * 40)).name == "e" * 40


@pytest.mark.parametrize("cut", [0, 1, len(WEIGHTS) // 2, len(WEIGHTS) - 1])
def test_what_breaks_off_is_gone_on_with(tiny, fetch, trouble, cut):
    tiny.goes_wrong("model.safetensors", trouble(cut=cut))
    assert content(fetch())["model.safetensors"] == WEIGHTS
    ranges = [headers.get("range") for headers in tiny.fetched("model.safetensors")]
    assert ranges == [None, f"bytes={cut}-" if cut else None]


@examples(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, len(WEIGHTS) // 2), max_size=6), kept=st.integers(0, len(WEIGHTS) + 10))
def test_however_often_it_breaks_off_the_end_is_the_same(broken_off, log, cuts, kept):
    log.__init__()
    assert content(broken_off(cuts, kept))["model.safetensors"] == WEIGHTS
    told = log.found_bytes["model.safetensors"] + log.moved_bytes.get("model.safetensors", 0)
    assert told == len(WEIGHTS)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_hub_that_is_busy_is_asked_again(tiny, fetch, trouble, status):
    tiny.goes_wrong("model.safetensors", trouble(status=status), trouble(status=status))
    assert content(fetch())["model.safetensors"] == WEIGHTS


def test_a_hub_that_stays_away_is_given_up_on_and_what_came_is_kept(tiny, fetch, trouble, cache):
    broken = [trouble(cut=100), *(trouble(status=503) for _ in range(PATIENCE))]
    tiny.goes_wrong("model.safetensors", *broken)
    with pytest.raises(HubError, match="owner/tiny"):
        fetch()
    assert f"{DIGEST}{PARTIAL}" in leftovers(cache)
    assert downloaded(cache) == []
    tiny.asked.clear()
    assert content(fetch())["model.safetensors"] == WEIGHTS
    assert [headers["range"] for headers in tiny.fetched("model.safetensors")] == ["bytes=100-"]


def test_a_host_that_ignores_ranges_sends_all_of_it_again(tiny, fetch, trouble, log):
    tiny.goes_wrong("model.safetensors", trouble(cut=100), trouble(whole=True))
    assert content(fetch())["model.safetensors"] == WEIGHTS
    assert log.moved_bytes["model.safetensors"] == len(WEIGHTS)


def test_damage_on_the_way_is_found_and_repaired(tiny, fetch, trouble):
    tiny.goes_wrong("model.safetensors", trouble(damage=True))
    assert content(fetch())["model.safetensors"] == WEIGHTS
    tiny.goes_wrong("config.json", trouble(damage=True))
    tiny.add("owner/tiny", {**FILES, "config.json": b'{"model_type": "new"}'}, commit="d" * 40)
    assert content(fetch())["config.json"] == b'{"model_type": "new"}'


def test_a_beginning_that_is_damaged_on_the_disk_is_fetched_again(tiny, fetch, cache):
    blobs = home(cache, "owner/tiny") / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{DIGEST}{PARTIAL}").write_bytes(b"x" * 100)
    assert content(fetch())["model.safetensors"] == WEIGHTS


def test_damage_twice_is_said_and_nothing_is_left_of_it(tiny, fetch, trouble, cache):
    tiny.goes_wrong("model.safetensors", trouble(damage=True), trouble(damage=True))
    with pytest.raises(HubError, match="arrived damaged twice"):
        fetch()
    assert leftovers(cache) == []
    assert downloaded(cache) == []


def test_files_that_rot_on_the_disk_are_found_when_asked_for(tiny, fetch):
    folder = fetch()
    (folder / "model.safetensors").resolve().write_bytes(bytes(len(WEIGHTS)))
    fetch()
    assert content(folder)["model.safetensors"] == bytes(len(WEIGHTS))
    fetch(verify=True)
    assert content(folder)["model.safetensors"] == WEIGHTS


def test_a_second_download_of_a_model_is_refused_while_the_first_is_at_it(tiny, fetch, cache):
    place = cache / ".locks" / "models--owner--tiny" / "mlxp.lock"
    place.parent.mkdir(parents=True)
    with FileLock(place), pytest.raises(HubError, match="being downloaded already"):
        fetch()
    assert fetch().is_dir()


def test_a_disk_that_is_too_small_is_said_before_anything_is_fetched(tiny, fetch):
    needed = sum(len(FILES[path]) for path in WANTED)
    with pytest.raises(HubError, match="mlxp rm"):
        fetch(free=lambda _: SPARE_BYTES + needed - 1)
    assert tiny.asked == []
    assert fetch(free=lambda _: SPARE_BYTES + needed).is_dir()


def test_what_is_here_already_needs_no_room(tiny, fetch):
    fetch()
    assert fetch(free=lambda _: 0).is_dir()


def test_it_stops_when_told_to_and_can_be_gone_on_with(tiny, fetch, cache):
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        fetch(stop=stop)
    assert downloaded(cache) == []
    assert fetch().is_dir()


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        ((403, {"X-Error-Code": "GatedRepo"}), ["gated", "hf auth login"]),
        ((401, {"X-Error-Code": "GatedRepo"}), ["gated", "hf auth login"]),
        ((403, {"X-Error-Message": "Access to this resource is disabled."}), ["disabled"]),
        ((500, {}), ["try again"]),
    ],
)
def test_what_the_hub_refuses_is_said_with_what_to_do(tiny, fetch, refusal, words):
    tiny.refusals["owner/tiny"] = refusal
    with pytest.raises(HubError) as raised:
        fetch()
    assert [word for word in words if word not in raised.value.message] == []


def test_a_model_that_is_not_there_is_named(hub, fetch):
    with pytest.raises(HubError, match="has no model owner/tiny"):
        fetch()


def test_a_revision_that_is_not_there_is_named(tiny, fetch):
    with pytest.raises(HubError, match="no revision 'v9'"):
        fetch(Ref("owner/tiny", "v9"))


def test_no_network_is_said(tiny, fetch):
    tiny.close()
    with pytest.raises(HubError, match="cannot be reached"):
        fetch()
    tiny.__init__()  # for the fixture to close


def test_a_model_without_weights_of_ours_is_refused(hub, fetch):
    hub.add("owner/tiny", {"config.json": b"{}", "model.gguf": b"x"})
    with pytest.raises(HubError, match=r"no \.safetensors weights, but \.gguf"):
        fetch()


@pytest.mark.parametrize(
    "path", ["../model.safetensors", "/etc/model.safetensors", "a\\..\\model.safetensors"]
)
def test_a_path_that_leads_elsewhere_is_refused(hub, fetch, path, tmp_path):
    hub.add("owner/tiny", {**FILES, path: b"x"})
    with pytest.raises(HubError, match="cannot be trusted"):
        fetch()
    assert hub.asked == []
