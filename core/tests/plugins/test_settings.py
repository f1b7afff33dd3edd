from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct, field

from mlxp_core.contracts import SettingsSection
from mlxp_core.errors import SettingsError
from mlxp_core.plugins import load_plugin_settings, load_settings
from mlxp_core.types import EngineSettings, GenerationSettings, PluginSettings, ServerSettings


class Hub(Struct, frozen=True, kw_only=True):
    """A plugin's section with one field of every sort."""

    token: str
    tries: Annotated[int, Meta(ge=1)] = 3
    mirrors: tuple[str, ...] = ()
    limits: dict[str, int] = field(default_factory=dict)
    folder: Path | None = None
    cache_s: float = field(default=1.5, name="cache")
    first: int = 0
    last: int = 9

    def __post_init__(self):
        if self.first > self.last:
            raise ValueError(f"first {self.first} comes after last {self.last}")


HUB = (SettingsSection(name="hub", type=Hub, summary="Where models come from."),)
TOKEN = {"MLXP_HUB_TOKEN": "t"}


@pytest.fixture
def file(tmp_path):
    """Write a settings file and return its path."""

    def write(text):
        path = tmp_path / "mlxp.toml"
        path.write_text(text)
        return path

    return write


def hub(environ=None, path=None, flags=None):
    return load_settings(path, {**TOKEN, **(environ or {})}, flags or {}, HUB).section(Hub)


def test_without_anything_said_the_defaults_stand():
    store = load_settings(None, {}, {})
    assert store.section(ServerSettings) == ServerSettings()
    assert {source.layer for source in store.sources.values()} == {"default"}


PORTS = st.none() | st.integers(0, 65535)


@given(PORTS, PORTS, PORTS)
def test_the_strongest_layer_wins_and_is_named(tmp_path_factory, in_file, in_environment, in_flags):
    path = tmp_path_factory.mktemp("s") / "mlxp.toml"
    path.write_text("[server]\n" + ("" if in_file is None else f"port = {in_file}"))
    environ = {} if in_environment is None else {"MLXP_SERVER_PORT": str(in_environment)}
    store = load_settings(path, environ, {"server": {"port": in_flags}})
    layers = [("flag", in_flags), ("environment", in_environment), ("file", in_file), ("default", 8090)]
    winner, value = next((layer, port) for layer, port in layers if port is not None)
    assert store.section(ServerSettings).port == value
    assert store.sources["server.port"].layer == winner


NAMES = st.lists(st.sampled_from("abc"), max_size=3)


@given(NAMES, NAMES, NAMES)
def test_no_layer_turns_on_what_another_turned_off(tmp_path_factory, in_file, in_environment, in_flags):
    path = tmp_path_factory.mktemp("s") / "mlxp.toml"
    path.write_text(f"[plugins]\ndisable = {in_file!r}")
    environ = {"MLXP_PLUGINS": ",".join(f"-{name}" for name in in_environment)}
    flags = {"plugins": {"disable": tuple(in_flags)}}
    assert set(load_plugin_settings(path, environ, flags).disable) == {*in_file, *in_environment, *in_flags}
    assert load_settings(path, environ, flags).section(PluginSettings) == load_plugin_settings(
        path, environ, flags
    )


def test_every_layer_that_added_a_disabled_plugin_is_named(file):
    path = file('[plugins]\ndisable = ["a"]')
    source = load_settings(path, {"MLXP_PLUGINS_DISABLE": "b"}, {}).sources["plugins.disable"]
    assert str(source) == f"{path} + MLXP_PLUGINS_DISABLE"


def test_the_plugins_section_is_read_before_any_other_is_known(file):
    path = file('[plugins]\nonly = ["hub"]\n[hub]\nnot_yet = "known"')
    assert load_plugin_settings(path, {"MLXP_HUB_X": "1"}, {"server": {"port": 1}}).only == ("hub",)


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("MLXP_HUB_TRIES", "5", "tries", 5),
        ("MLXP_HUB_MIRRORS", "a, b,", "mirrors", ("a", "b")),
        ("MLXP_HUB_MIRRORS", '["a,b"]', "mirrors", ("a,b",)),
        ("MLXP_HUB_LIMITS", '{"x": 1}', "limits", {"x": 1}),
        ("MLXP_HUB_FOLDER", "/models", "folder", Path("/models")),
        ("MLXP_HUB_CACHE", "2", "cache_s", 2.0),
    ],
)
def test_the_text_of_a_variable_is_read_as_its_settings_type(variable, text, name, value):
    assert getattr(hub({variable: text}), name) == value


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("false", False), ("0", False)])
def test_switches_are_words_or_digits(text, value):
    store = load_settings(None, {"MLXP_SERVER_STRICT": text}, {})
    assert store.section(ServerSettings).strict is value


def test_null_unsets_what_may_be_absent():
    assert (
        load_settings(None, {"MLXP_GENERATION_TOP_K": "null"}, {}).section(GenerationSettings).top_k is None
    )


def test_toml_is_read_strictly(file):
    path = file('[server]\nport = "8090"')
    with pytest.raises(
        SettingsError, match=r"server\.port from .*mlxp\.toml: Expected `int`, got `str`; it says '8090'"
    ):
        load_settings(path, {}, {})


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"MLXP_SERVER_PORT": "http"}, r"server\.port from MLXP_SERVER_PORT: Expected `int`.*'http'"),
        ({"MLXP_ENGINE_DTYPE": "f64"}, r"engine\.dtype from MLXP_ENGINE_DTYPE: Invalid enum value 'f64'"),
        ({"MLXP_HUB_TRIES": "0"}, r"hub\.tries from MLXP_HUB_TRIES: Expected `int` >= 1"),
        ({"MLXP_HUB_LIMITS": "{x"}, r"hub\.limits from MLXP_HUB_LIMITS"),
    ],
)
def test_a_wrong_value_names_the_key_the_place_and_the_value(environ, said):
    with pytest.raises(SettingsError, match=said):
        hub(environ)


def test_flags_are_named_as_they_are_typed():
    with pytest.raises(SettingsError, match=r"engine\.prefill_chunk from --prefill-chunk: .*it says 'many'"):
        load_settings(None, {}, {"engine": {"prefill_chunk": "many"}})


def test_a_misspelt_key_gets_a_suggestion(file):
    with pytest.raises(SettingsError, match=r"\[server\] has no setting 'prot'; did you mean 'port'\?"):
        load_settings(file("[server]\nprot = 1"), {}, {})


def test_a_flag_for_no_section_is_an_error():
    with pytest.raises(SettingsError, match="flags name no section: sever"):
        load_settings(None, {}, {"sever": {"port": 1}})


def test_a_missing_value_says_where_to_put_it():
    with pytest.raises(
        SettingsError, match=r"\[hub\] needs token; set it in mlxp\.toml or as MLXP_HUB_TOKEN"
    ):
        load_settings(None, {}, {}, HUB)


def test_a_section_may_refuse_a_combination():
    with pytest.raises(SettingsError, match=r"\[hub\] from MLXP_HUB_FIRST, .*: first 10 comes after last 9"):
        hub({"MLXP_HUB_FIRST": "10"})


def test_a_secret_is_used_and_never_shown(file):
    path = file('[hub]\ntoken = {env = "SECRET"}\ntries = {env = "SECRET"}')
    with pytest.raises(SettingsError) as refused:
        load_settings(path, {"SECRET": "hunter2"}, {}, HUB)
    assert "hunter2" not in refused.value.message
    assert "$SECRET" in refused.value.message


def test_a_secret_is_read_as_its_settings_type(file):
    path = file('[hub]\ntries = {env = "NUMBER"}')
    assert hub({"NUMBER": "7"}, path).tries == 7


def test_a_plugins_section_is_found_by_its_type(file):
    assert hub(path=file('[hub]\nmirrors = ["a"]')).mirrors == ("a",)


def test_asking_for_a_section_nobody_declared_says_how_to_declare_it():
    with pytest.raises(SettingsError, match="declare it with the hook mlxp_settings_sections"):
        load_settings(None, {}, {}).section(Hub)


def test_the_sections_of_absent_plugins_are_passed_over_everywhere(file):
    path = file("[lab]\njobs = 3")
    store = load_settings(path, {"MLXP_LAB_JOBS": "4"}, {}, absent=frozenset({"lab"}))
    assert store.section(EngineSettings) == EngineSettings()


@pytest.mark.parametrize("text", ["one,two\n", "one\ntwo\n", "one, \r\n two"])
def test_a_list_in_a_file_has_an_entry_a_line_or_commas(file, text):
    path = file('[server]\napi_keys = { file = "keys.txt" }\n')
    path.with_name("keys.txt").write_text(text, newline="")
    assert load_settings(path, {}, {}).section(ServerSettings).api_keys == ("one", "two")
