"""Whatever is wrong with the bytes of a folder, it is said as a fault of the folder, and nothing else happens."""

import shutil

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from mlxp_core.contracts import ModelFamily
from mlxp_core.errors import ModelFolderError
from mlxp_core.loading import choose_family, load_frontend, open_folder
from mlxp_core.loading.network import load_network
from mlxp_core.loading.sketch import write_sketch

FILES = [
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "generation_config.json",
]


class Brought(Struct, frozen=True):
    families: dict[str, ModelFamily]
    tool_formats: dict[str, object] = {}
    thinking_formats: dict[str, object] = {}
    vision_towers: dict[str, object] = {}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, pair_folder_arguments):
    return write_sketch(tmp_path_factory.mktemp("whole") / "pair", **pair_folder_arguments)


@pytest.fixture(scope="module")
def work(whole, tmp_path_factory):
    return shutil.copytree(whole, tmp_path_factory.mktemp("work") / "pair")


def damaged(data, changes, cut):
    """``data`` with some bytes changed, and cut off at a place, both relative to its length."""
    out = bytearray(data)
    for place, byte in changes:
        out[int(place * len(out)) % len(out)] = byte
    return bytes(out[: int(cut * len(out))])


CHANGES = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True), st.one_of(st.integers(0, 255), st.sampled_from(b'{}[]",:0-.eE\\'))
    ),
    max_size=4,
)
CUT = st.one_of(st.just(1.0), st.floats(0, 1))
FEW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)


def outcome(folder, family):
    """Load both halves; say whether that went well."""
    try:
        opened = open_folder(folder)
        load_frontend(opened, Brought({family.name: family}))
        chosen, config = choose_family(opened, {family.name: family})
        load_network(opened, chosen, config)
    except ModelFolderError:
        return False
    return True


@pytest.mark.parametrize("name", FILES)
@FEW
@given(changes=CHANGES, cut=CUT)
@example(changes=[], cut=1.0)
@example(changes=[], cut=0.0)
def test_damaged_text_files(whole, work, pair, name, changes, cut):
    data = (whole / name).read_bytes()
    (work / name).write_bytes(damaged(data, changes, cut))
    try:
        assert outcome(work, pair) or changes or cut < 1
    finally:
        (work / name).write_bytes(data)


@FEW
@given(changes=CHANGES, cut=CUT, header=st.booleans())
@example(changes=[], cut=1.0, header=False)
def test_damaged_weights(whole, work, pair, changes, cut, header):
    name = "model.safetensors"
    data = (whole / name).read_bytes()
    length = 8 + int.from_bytes(data[:8], "little")
    broken = damaged(data[:length], changes, 1.0) + data[length:] if header else damaged(data, changes, 1.0)
    (work / name).write_bytes(broken[: int(cut * len(broken))])
    try:
        assert outcome(work, pair) or changes or cut < 1
    finally:
        (work / name).write_bytes(data)


@FEW
@given(
    noise=st.binary(max_size=300),
    name=st.sampled_from([*FILES, "model.safetensors", "model.safetensors.index.json"]),
)
def test_noise_in_place_of_a_file(whole, work, pair, noise, name):
    before = (work / name).read_bytes() if (work / name).exists() else None
    (work / name).write_bytes(noise)
    try:
        outcome(work, pair)
    finally:
        (work / name).unlink()
        if before is not None:
            (work / name).write_bytes(before)


@pytest.mark.parametrize("name", [*FILES, "model.safetensors"])
def test_a_folder_in_place_of_a_file(whole, tmp_path, pair, name):
    broken = shutil.copytree(whole, tmp_path / "pair")
    (broken / name).unlink()
    (broken / name).mkdir()
    outcome(broken, pair)
