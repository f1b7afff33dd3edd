import pytest

from mlxp_core.errors import SettingsError
from mlxp_core.plugins.config_file import find_config, from_tables, read_file
from mlxp_core.types import ServerSettings

SECTIONS = {"server": ServerSettings}


@pytest.fixture
def places(tmp_path):
    """A working directory and a home, with the user's own settings of either system."""
    here, home = tmp_path / "here", tmp_path / "home"
    here.mkdir()
    for folder in (home / ".config" / "mlxp", home / "Library" / "Application Support" / "mlxp"):
        folder.mkdir(parents=True)
        (folder / "mlxp.toml").touch()
    return here, home


def test_the_search_goes_flag_variable_here_user(places):
    here, home = places
    (here / "mlxp.toml").touch()
    (here / "flag.toml").touch()
    (here / "variable.toml").touch()

    def find(named, environ):
        return find_config(named, environ, here=here, home=home, platform="linux")

    assert find("flag.toml", {"MLXP_CONFIG": "variable.toml"}) == here / "flag.toml"
    assert find(None, {"MLXP_CONFIG": "variable.toml"}) == here / "variable.toml"
    assert find(None, {}) == here / "mlxp.toml"
    (here / "mlxp.toml").unlink()
    assert find(None, {}) == home / ".config" / "mlxp" / "mlxp.toml"
    assert find(None, {"XDG_CONFIG_HOME": str(here)}) is None


def test_macos_keeps_them_in_the_library(places):
    here, home = places
    found = find_config(None, {}, here=here, home=home, platform="darwin")
    assert found == home / "Library" / "Application Support" / "mlxp" / "mlxp.toml"


@pytest.mark.parametrize(
    ("named", "environ", "origin"),
    [("no.toml", {}, "--config"), (None, {"MLXP_CONFIG": "no.toml"}, "MLXP_CONFIG")],
)
def test_a_file_that_was_named_must_exist(places, named, environ, origin):
    here, home = places
    with pytest.raises(SettingsError, match=rf"{origin} names no\.toml, which is no file"):
        find_config(named, environ, here=here, home=home)


@pytest.mark.parametrize(
    ("text", "said"),
    [("[server", "cannot be read as TOML"), ("port = 1", "'port' stands outside every section")],
)
def test_what_is_no_settings_file_is_refused_by_name(tmp_path, text, said):
    path = tmp_path / "mlxp.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=said) as refused:
        read_file(path)
    assert str(path) in refused.value.message


def test_a_misspelt_section_gets_a_suggestion(tmp_path):
    with pytest.raises(SettingsError, match=r"unknown section \[sever\]; did you mean 'server'\?"):
        from_tables(tmp_path / "mlxp.toml", {"sever": {}}, SECTIONS, {})


def test_the_section_of_an_absent_plugin_is_passed_over(tmp_path):
    layer = from_tables(tmp_path / "mlxp.toml", {"lab": {"x": 1}}, SECTIONS, {}, absent=frozenset({"lab"}))
    assert layer == {}


def test_secrets_are_followed_and_marked(tmp_path):
    (tmp_path / "key.txt").write_text("from a file\n")
    tables = {"server": {"host": {"env": "HOST"}, "port": {"file": "key.txt"}}}
    layer = from_tables(tmp_path / "mlxp.toml", tables, SECTIONS, {"HOST": "from the environment"})
    host, port = layer["server"]["host"], layer["server"]["port"]
    assert (host.value, port.value) == ("from the environment", "from a file")
    assert host.source.secret
    assert port.source.secret


@pytest.mark.parametrize(
    ("value", "said"),
    [({"env": "NIX"}, "reads the variable NIX, which is not set"), ({"file": "nix"}, "reads the file")],
)
def test_a_secret_that_is_not_there_names_the_setting(tmp_path, value, said):
    with pytest.raises(SettingsError, match=f"server.host {said}"):
        from_tables(tmp_path / "mlxp.toml", {"server": {"host": value}}, SECTIONS, {})


def test_a_table_with_more_in_it_is_a_table(tmp_path):
    value = {"env": "HOST", "other": 1}
    assert (
        from_tables(tmp_path / "m", {"server": {"host": value}}, SECTIONS, {})["server"]["host"].value
        == value
    )
