from datetime import datetime

import pytest

from mlxp_core.errors import BadRequest, ModelFolderError
from mlxp_core.prompting import ChatTemplate

USER = [{"role": "user", "content": "hi"}]


def render(source, messages=USER, **options):
    return ChatTemplate(source).render(messages, **options)


class TestAsHuggingFace:
    def test_json_is_neither_sorted_nor_escaped(self):
        value = {"b": "<ü>&'", "a": [1, 2.5, None, True]}
        assert render("{{ x | tojson }}", extras={"x": value}) == '{"b": "<ü>&\'", "a": [1, 2.5, null, true]}'

    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            ("indent=1", '{\n "b": 1,\n "a": "ü"\n}'),
            ("separators=(',', ':')", '{"b":1,"a":"ü"}'),
            ("ensure_ascii=True", '{"b": 1, "a": "\\u00fc"}'),
            ("sort_keys=True", '{"a": "ü", "b": 1}'),
        ],
    )
    def test_json_takes_what_pythons_takes(self, call, expected):
        assert render(f"{{{{ x | tojson({call}) }}}}", extras={"x": {"b": 1, "a": "ü"}}) == expected

    def test_blocks_leave_no_lines_behind(self):
        assert render("a\n  {% if true %}\nb\n  {% endif %}\nc") == "a\nb\nc"

    def test_loops_can_be_left(self):
        leave = "{% if n == 1 %}{% continue %}{% elif n == 3 %}{% break %}{% endif %}"
        assert render(f"{{% for n in range(9) %}}{leave}{{{{ n }}}}{{% endfor %}}") == "02"

    def test_generation_marks_are_transparent(self):
        body = "{% set x = 2 %}[{{ messages[0].content }}{{ x }}]"
        source = f"{{% set x = 1 %}}{{% generation %}}{body}{{% endgeneration %}}{{{{ x }}}}"
        assert render(source) == "[hi2]1"

    def test_the_clock_is_the_one_given(self):
        template = ChatTemplate("{{ strftime_now('%d %b %Y') }}", now=lambda: datetime(2026, 1, 2))  # noqa: DTZ001
        assert template.render(USER) == "02 Jan 2026"

    def test_token_strings_are_variables(self):
        assert (
            ChatTemplate("{{ bos_token }}{{ eos_token }}", tokens={"bos_token": "<s>"}).render(USER) == "<s>"
        )

    def test_tools_are_none_without_any(self):
        assert render("{{ tools is none }}") == "True"

    def test_a_second_template_serves_requests_with_tools(self):
        template = ChatTemplate("plain", with_tools="{{ tools | length }} tools")
        assert template.render(USER) == "plain"
        assert template.render(USER, tools=[{}, {}]) == "2 tools"
        assert "tools" in template.variables

    def test_undefined_is_not_false(self):
        source = "{{ enable_thinking is defined }}"
        assert render(source) == "False"
        assert render(source, extras={"enable_thinking": False}) == "True"


class TestFaults:
    def test_a_refusal_carries_the_templates_own_words(self):
        with pytest.raises(BadRequest, match="only on Sundays"):
            render("{{ raise_exception('only on Sundays') }}")

    @pytest.mark.parametrize(
        "source",
        [
            "{{ messages[0].content + 1 }}",
            "{{ messages[9].content.x }}",
            "{{ 1 // 0 }}",
            "{{ nothing.at.all }}",
            "{{ 'x' | tojson(indent=1, nonsense=2) }}",
            "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
            "{{ range(10 ** 9) | list }}",
        ],
    )
    def test_what_it_cannot_do_is_the_requests_fault(self, source):
        with pytest.raises(BadRequest, match="chat template"):
            render(source)

    @pytest.mark.parametrize(
        "source",
        [
            "{{ ''.__class__.__mro__ }}",
            "{{ messages.append(1) }}",
            "{{ render.__globals__ }}",
            "{{ cycler.__init__.__globals__ }}",
        ],
    )
    def test_the_sandbox_holds(self, source):
        with pytest.raises(BadRequest):
            render(source)

    @pytest.mark.parametrize(
        "source", ["{% if %}", "{{ 'x }}", "{% nonsense %}", "{{ x | nofilter }}", "\n\n{% endfor %}"]
    )
    def test_a_broken_template_is_the_folders_fault(self, source):
        with pytest.raises(ModelFolderError, match=f"line {source.count(chr(10)) + 1}"):
            ChatTemplate(source)


class TestTraits:
    def test_the_sketch_takes_everything_but_text_arguments(self, template):
        traits = template.traits
        assert (traits.system, traits.late_system, traits.repeated, traits.text_arguments) == (
            True,
            True,
            True,
            False,
        )

    def test_a_strict_one_takes_nothing(self, strict):
        traits = strict.traits
        assert (traits.system, traits.late_system, traits.repeated, traits.text_arguments) == (
            False,
            False,
            False,
            False,
        )

    def test_losing_words_is_not_taking_them(self):
        silent = "{% for m in messages if m.role != 'system' %}{{ m.content }}{% endfor %}"
        assert not ChatTemplate(silent).traits.system
