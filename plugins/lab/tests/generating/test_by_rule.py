"""Templates that need no model."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxp_lab.datasets.shelf import card_of
from mlxp_lab.generating.asking import Dropped
from mlxp_lab.generating.template import Inputs, filled
from mlxp_lab.generating.templates import OWN
from mlxp_lab.jobs import BadParameters, JobFailed

BY_NAME = {template.name: template for template in OWN}
words = st.text(
    st.characters(categories=["L", "N", "P", "Zs"], exclude_characters=":"), min_size=1, max_size=20
).map(str.strip)
said = words.filter(bool)


def made(name, seed=0, **inputs):
    template = BY_NAME[name]
    tasks = template.plan(Inputs(filled(template, inputs), seed))
    return [row for task in tasks for row in task(None)]


def rows_of(place):
    return [json.loads(line) for line in (place / "train.jsonl").read_text().splitlines()]


@given(st.lists(st.tuples(said, st.lists(said, min_size=1, max_size=3)), min_size=1, max_size=5))
def test_pairs_are_read_as_they_were_written(pairs):
    text = "\n\n".join(f"Q: {question}\na: " + "\n\n".join(answer) for question, answer in pairs)
    found = made("sft_qa_pairs", pairs_text=text)
    assert [[turn["content"] for turn in row["messages"]] for row in found] == [
        [question, "\n\n".join(answer)] for question, answer in pairs
    ]


@pytest.mark.parametrize(
    "text", ["hello", "Q: a", "A: a\nQ: b", "Q: a\nQ: b\nA: c", "Q: a\nA: b\nA: c", "Q: a\nA: b\nQ: c"]
)
def test_questions_without_answers_are_refused(text):
    with pytest.raises(BadParameters) as refused:
        made("sft_qa_pairs", pairs_text=text)
    assert refused.value.param == "inputs.pairs_text"


def test_preferences_come_from_a_table_and_its_faults_are_told():
    found = made("dpo_pref_pairs", csv_text='prompt,chosen,rejected\n"a, b",c,d\ne,,f\n')
    assert found[0] == {"prompt": "a, b", "chosen": "c", "rejected": "d"}
    assert isinstance(found[1], Dropped)
    assert found[1].text == "line 3: chosen is empty"


@pytest.mark.parametrize("text", ["prompt,chosen\na,b\n", "a,a\n", "prompt,chosen,rejected\n"])
def test_a_table_without_rows_is_refused(text):
    with pytest.raises(BadParameters):
        made("dpo_pref_pairs", csv_text=text)


def test_lines_with_other_keys_become_conversations():
    found = made("format_conversion", input_jsonl='{"q": "a", "n": 2}\nno\n', user_key="q", assistant_key="n")
    assert found[0]["messages"] == [{"role": "user", "content": "a"}, {"role": "assistant", "content": "2"}]
    assert found[1].text.startswith("line 2")


def test_code_is_cut_between_two_lines_and_nothing_is_lost(tmp_path):
    block = "class A:\n    x = 1\n\n    def f(self):\n        return 1\n"
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one.py").write_text(
        "import os\n\n" + block + "\nasync def g():\n    a = 1\n    b = 2\n    return a\n"
    )
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "two.py").write_text(block)
    (tmp_path / "odd.py").write_bytes(b"\xff\xfe")
    found = made("code_completion", src_dir=str(tmp_path))
    assert [row["prompt"] + row["completion"] for row in found] == [
        block.rstrip(),
        "async def g():\n    a = 1\n    b = 2\n    return a",
    ]
    assert all(row["prompt"].endswith("\n") and row["completion"] for row in found)
    assert found == made("code_completion", src_dir=str(tmp_path))
    assert len(made("code_completion", src_dir=str(tmp_path), max_pairs=1)) == 1
    with pytest.raises(BadParameters):
        made("code_completion", src_dir=str(tmp_path / "no"))


@pytest.mark.parametrize("template", OWN, ids=str)
def test_every_template_says_what_it_wants(template):
    needed = [field.name for field in template.fields if field.required]
    assert needed
    for field in template.fields:
        assert field.label
        assert (field.type == "number") == isinstance(field.default, int)
    with pytest.raises(BadParameters) as refused:
        filled(template, {})
    assert refused.value.param == f"inputs.{needed[0]}"
    with pytest.raises(BadParameters, match="has no field 'more'"):
        filled(template, {"more": "x"})


def test_rows_that_are_not_worth_keeping_are_counted(generate, context):
    twice = "Q: What is the tallest mountain of the world?\nA: Mount Everest, in the Himalayas.\n"
    odd = "Q: Same.\nA: same.\nQ: Tell me more.\nA: " + "on and on we go " * 10
    done = generate("sft_qa_pairs", {"pairs_text": twice + twice.upper() + odd}, context=context, valid=0)
    assert done.summary["dropped"] == {
        "nearly the same as an earlier row": 1,
        "the answer is what was asked": 1,
        "the answer repeats itself": 1,
    }
    assert done.summary["rows"] == len(rows_of(done.output)) == 1
    assert sum(line.startswith("dropped, ") for line in context.lines) == 3
    card = card_of(done.output)
    assert (card.origin.kind, card.origin.template, card.origin.seed) == ("generate", "sft_qa_pairs", 0)


def test_answers_must_be_as_long_as_is_asked(generate):
    done = generate("sft_qa_pairs", {"pairs_text": "Q: a\nA: yes\nQ: b\nA: certainly"}, shortest=4, valid=0)
    assert done.summary["dropped"] == {"the answer is too short": 1}
    with pytest.raises(JobFailed, match="no row is worth keeping"):
        generate("sft_qa_pairs", {"pairs_text": "Q: a\nA: yes"}, shortest=4)


odd = st.text(max_size=30) | st.sampled_from(
    [
        "Q: a\nA: b",
        "[]",
        "[1]",
        "{",
        "~nobody",
        "a\0b",
        "x" * 5000,
        "a\n\nb",
        "a,b\n1,2",
        "-1",
        "9" * 5000,
        "7",
    ]
)


@pytest.mark.parametrize("template", OWN, ids=lambda template: template.name)
@settings(max_examples=25)
@given(data=st.data())
def test_whatever_is_filled_in_it_is_a_plan_or_a_bad_parameter(template, data):
    given = data.draw(
        st.fixed_dictionaries(
            {field.name: odd for field in template.fields if field.required},
            optional={
                field.name: odd | st.integers(-2, 10) for field in template.fields if not field.required
            },
        )
    )
    try:
        tasks = template.plan(Inputs(filled(template, given), 0))
    except BadParameters as error:
        assert error.param.startswith("inputs.")  # noqa: PT017  # either is right
    else:
        assert all(map(callable, tasks))
