import pytest

from mlxp_core.errors import SettingsError
from mlxp_core.plugins import set_up

LAB = """
from msgspec import Struct
from mlxp_core import hookimpl
from mlxp_core.contracts import SettingsSection

class Lab(Struct, frozen=True):
    jobs: int = 1

@hookimpl
def mlxp_settings_sections():
    return [SettingsSection(name="lab", type=Lab, summary="Jobs.")]
"""


@pytest.fixture
def start(site, tmp_path):
    """Set up in a folder whose mlxp.toml has a section of the plugin ``lab``."""
    site.add("mlxp-lab", {"lab": LAB})
    (tmp_path / "mlxp.toml").write_text("[lab]\njobs = 4\n")

    def run(flags=None, environ=None):
        return set_up(
            flags or {}, config=None, environ=environ or {}, here=tmp_path, home=tmp_path, path=site.path
        )

    return run


def test_a_plugins_section_is_known_once_the_plugin_is_loaded(start):
    settings = start(environ={"MLXP_LAB_JOBS": "5"}).settings
    assert settings.sections["lab"].jobs == 5
    assert settings.sources["lab.jobs"].name == "MLXP_LAB_JOBS"


@pytest.mark.parametrize(
    "how",
    [{"flags": {"plugins": {"disable": ("lab",)}}}, {"environ": {"MLXP_PLUGINS": "-lab", "MLXP_LAB_X": "1"}}],
)
def test_the_section_of_a_plugin_that_is_off_is_no_mistake(start, how):
    setup = start(**how)
    assert "lab" not in setup.settings.sections


def test_the_section_of_a_plugin_that_is_not_installed_says_so(start, tmp_path):
    (tmp_path / "mlxp.toml").write_text("[hub]\n")
    with pytest.raises(SettingsError, match=r"unknown section \[hub\].*needs the plugin installed"):
        start()
