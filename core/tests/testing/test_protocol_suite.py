"""The suite for protocols: the documented example passes it, and each way of breaking the example is caught."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mlxp_core.testing import scripts

DOCUMENT = Path(__file__).parents[3] / "docs" / "plugins" / "protocol.md"
PLUGIN, SUITE = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


def test_the_documented_example_passes_every_law(tmp_path):
    package = tmp_path / "mlxp_lines"
    package.mkdir()
    (package / "__init__.py").write_text('"""Lines."""\n', encoding="utf-8")
    (package / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "test_conformance.py").write_text(SUITE, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        tmp_path,
        tmp_path,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout


@pytest.fixture
def broken(monkeypatch):
    """Make the example's suite and protocol with places of the plugin changed."""

    def build(*changes):
        source = PLUGIN
        for sound, faulty in changes:
            assert sound in source
            source = source.replace(sound, faulty)
        package, plugin = ModuleType("mlxp_lines"), ModuleType("mlxp_lines.plugin")
        package.plugin = plugin
        monkeypatch.setitem(sys.modules, "mlxp_lines", package)
        monkeypatch.setitem(sys.modules, "mlxp_lines.plugin", plugin)
        exec(source, vars(plugin))  # the documented example
        namespace = {"__name__": "mlxp_lines_suite"}
        exec(SUITE, namespace)  # as above
        return namespace["TestLines"](), plugin.mlxp_protocols()[0]

    return build


def test_a_lost_broken_call_is_caught(broken):
    suite, protocol = broken(
        ("case TextDelta(text=text) | CallBroken(text=text):", "case TextDelta(text=text):")
    )
    with pytest.raises(AssertionError):
        suite.test_every_script_reads_back(protocol, scripts.BROKEN_CALL)


def test_a_broken_call_told_as_a_call_is_caught(broken):
    suite, protocol = broken(
        ("| CallBroken(text=text):", ":"), ("case CallDone():", "case CallDone() | CallBroken():")
    )
    with pytest.raises(AssertionError):
        suite.test_every_script_reads_back(protocol, scripts.BROKEN_CALL)


def test_a_failure_that_looks_complete_is_caught(broken):
    suite, protocol = broken(("Said(error=event.message)", 'Said(end=End("stop", Usage()))'))
    with pytest.raises(AssertionError):
        suite.test_a_failure_midway_is_told_in_the_stream(protocol, scripts.FAILURE_MIDWAY)


def test_a_failure_without_its_status_is_caught(broken):
    suite, protocol = broken(("status=event.status", "status=500"))
    with pytest.raises(AssertionError):
        suite.test_a_failure_before_any_byte_is_a_response_of_its_own(
            protocol, scripts.FAILURE_BEFORE_ANYTHING
        )


def test_a_failure_after_a_keep_alive_must_be_told_in_the_stream(broken):
    suite, protocol = broken(("        self._sent = True\n        return b", "        return b"))
    with pytest.raises(AssertionError):
        suite.test_a_failure_midway_is_told_in_the_stream(protocol, scripts.FAILURE_BEFORE_ANYTHING)


def test_words_after_the_end_are_caught(broken):
    suite, protocol = broken(
        ('        if self._over:\n            return b""\n        match', "        match")
    )
    with pytest.raises(AssertionError):
        suite.test_nothing_follows_the_end(protocol, scripts.PLAIN)


def test_an_answer_that_depends_on_the_cut_is_caught(broken):
    suite, protocol = broken(("self._say(Said(text=text))", "self._say(Said(text=text.strip()))"))
    with pytest.raises(AssertionError):
        suite.test_any_cut_gives_the_same(protocol, scripts.PLAIN)


def test_a_crash_on_rubbish_is_caught(broken):
    suite, protocol = broken(("(msgspec.DecodeError, RecursionError)", "msgspec.ValidationError"))
    with pytest.raises(Exception, match="truncated"):
        suite.test_a_body_that_is_no_json_object_is_a_bad_request(protocol, b"{")


def test_a_null_that_counts_is_caught(broken):
    suite, protocol = broken(("model: str | None = None", 'model: str | None = "default"'))
    with pytest.raises(AssertionError, match="model"):
        suite.test_null_is_absent(protocol)


def test_a_field_outside_the_manifest_is_caught(broken):
    suite, protocol = broken(("in Ask.__struct_fields__", 'in ("text", "model", "stream")'))
    with pytest.raises(AssertionError, match="max_tokens"):
        suite.test_every_field_has_one_treatment(protocol)


def test_a_silent_unknown_field_is_caught(broken):
    suite, protocol = broken(("LineEncoder(bool(ask.stream)), unknown)", "LineEncoder(bool(ask.stream)))"))
    with pytest.raises(AssertionError):
        suite.test_unknown_fields_are_reported(protocol)
