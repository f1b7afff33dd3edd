import pytest
from msgspec import Struct

from mlxp_core.errors import SettingsError
from mlxp_core.plugins.environment import from_environment, variable_name
from mlxp_core.plugins.settings import CORE_SECTIONS


class Keys(Struct, frozen=True):
    key: str = ""


def test_a_variable_is_named_for_its_section_and_key():
    assert variable_name("openai-chat", "store_s") == "MLXP_OPENAI_CHAT_STORE_S"


def test_variables_become_text_values_with_their_name():
    given = from_environment({"MLXP_SERVER_PORT": "1"}, CORE_SECTIONS)["server"]["port"]
    assert (given.value, given.text, str(given.source)) == ("1", True, "MLXP_SERVER_PORT")


def test_an_empty_variable_counts_as_unset():
    assert from_environment({"MLXP_SERVER_PORT": "", "MLXP_PLUGINS": ""}, CORE_SECTIONS) == {}


@pytest.mark.parametrize("variable", ["MLXP_SERVER_PROT", "MLXP_SERVRE_PORT"])
def test_a_misspelt_variable_is_an_error_with_a_suggestion(variable):
    with pytest.raises(
        SettingsError, match=f"{variable}, which is no setting; did you mean 'MLXP_SERVER_PORT'"
    ):
        from_environment({variable: "1"}, CORE_SECTIONS)


def test_a_variable_of_one_of_our_sections_must_be_a_setting():
    with pytest.raises(SettingsError, match="MLXP_SERVER_SERVICE_HOST"):
        from_environment({"MLXP_SERVER_SERVICE_HOST": "10.0.0.1"}, CORE_SECTIONS)


def test_variables_of_others_are_left_alone():
    assert (
        from_environment({"MLXP_TRACKING_FOLDER": "x", "MLXP_CONFIG": "y", "PATH": "z"}, CORE_SECTIONS) == {}
    )


def test_variables_of_absent_plugins_are_passed_over():
    environ = {"MLXP_SERVER_SIDE_X": "1"}
    assert from_environment(environ, CORE_SECTIONS, absent=frozenset({"server-side"})) == {}


def test_two_settings_with_one_variable_are_refused():
    class Dashed(Struct, frozen=True):
        b_key: str = ""

    with pytest.raises(SettingsError, match=r"a\.b_key and a-b\.key would share the variable MLXP_A_B_KEY"):
        from_environment({}, {"a": Dashed, "a-b": Keys})


@pytest.mark.parametrize(
    ("text", "only", "disable"),
    [
        ("a,b", ["a", "b"], None),
        ("-a", None, ["a"]),
        (" a , -b,, - c ", ["a"], ["b", "c"]),
    ],
)
def test_the_short_form_lists_what_is_on_and_what_is_off(text, only, disable):
    chosen = from_environment({"MLXP_PLUGINS": text}, CORE_SECTIONS)["plugins"]
    assert (chosen["only"].value if only else None) == only
    assert (chosen["disable"].value if disable else None) == disable
    assert chosen.keys() == {key for key, value in (("only", only), ("disable", disable)) if value}


def test_the_short_and_the_long_form_together_are_refused():
    environ = {"MLXP_PLUGINS": "-a", "MLXP_PLUGINS_DISABLE": "b"}
    with pytest.raises(
        SettingsError, match=r"MLXP_PLUGINS and MLXP_PLUGINS_DISABLE both set plugins\.disable"
    ):
        from_environment(environ, CORE_SECTIONS)


def test_what_kubernetes_says_of_a_service_called_mlxp_is_left_alone():
    links = {"MLXP_SERVICE_HOST": "10.0.0.1", "MLXP_SERVICE_PORT": "80", "MLXP_PORT": "tcp://10.0.0.1:80"}
    assert from_environment(links, CORE_SECTIONS) == {}
