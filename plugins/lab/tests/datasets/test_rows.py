"""The one reader of rows."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import BadRequest
from mlxp_core.types import Call, Message, Result, Text, Thinking, ToolSpec
from mlxp_lab.datasets.doubts import doubts
from mlxp_lab.datasets.inspect import inspect
from mlxp_lab.datasets.rows import (
    BadRow,
    ChatRow,
    CompletionRow,
    PreferenceRow,
    TextRow,
    form_of,
    lines_of,
    read_row,
    rows_of,
)

DEEP = '{"a": ' * 5000
DEEP_CALL = json.dumps(
    {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": DEEP}}]}]}
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["messages", "role", "content", "prompt", "completion", "text", "chosen", "rejected", "tools"]
            )
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)
words = st.text(min_size=1, max_size=30).filter(str.strip)
chats = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": words}),
    min_size=1,
    max_size=5,
)
good_rows = (
    st.fixed_dictionaries({"text": words})
    | st.fixed_dictionaries({"prompt": st.text(max_size=20), "completion": words})
    | chats.map(lambda told: {"messages": [*told, {"role": "assistant", "content": "so"}]})
    | st.tuples(words, words).map(
        lambda two: {"prompt": "which?", "chosen": two[0] + "!", "rejected": two[1] + "?"}
    )
)


def said(role, text):
    return Message(role, (Text(text),))


@pytest.mark.parametrize(
    ("told", "row"),
    [
        ({"text": "Once."}, TextRow("Once.")),
        ({"text": "Once.", "id": 7}, TextRow("Once.")),
        ({"prompt": "1+1=", "completion": "2"}, CompletionRow("1+1=", "2")),
        ({"prompt": "1+1=", "chosen": "2", "rejected": "3"}, PreferenceRow("1+1=", "2", "3")),
        (
            {"prompt": [{"role": "user", "content": "1+1"}], "chosen": "2", "rejected": "3"},
            PreferenceRow((said("user", "1+1"),), "2", "3"),
        ),
        (
            {
                "messages": [
                    {"role": "developer", "content": "Be brief."},
                    {
                        "role": "user",
                        "content": [{"type": "text", "text": "1"}, {"type": "text", "text": "+1"}],
                    },
                    {"role": "assistant", "content": "2", "reasoning_content": "easy"},
                ]
            },
            ChatRow(
                (
                    said("system", "Be brief."),
                    said("user", "1+1"),
                    Message("assistant", (Thinking("easy"), Text("2"))),
                )
            ),
        ),
    ],
)
def test_each_form_is_told_by_its_keys(told, row):
    assert read_row(json.dumps(told)) == row


@pytest.mark.parametrize("arguments", ['{"city": "Bonn"}', {"city": "Bonn"}])
def test_calls_and_what_tools_answer_are_read(arguments):
    tool = {"name": "weather", "description": "Tell it.", "parameters": {"type": "object"}}
    told = {
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "weather", "arguments": arguments}}
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "Rain."},
            {"role": "assistant", "content": "It rains."},
        ],
        "tools": [{"type": "function", "function": tool}],
    }
    row = read_row(json.dumps(told))
    call = row.messages[1].parts[0]
    assert (call.id, call.name, json.loads(call.arguments)) == ("a", "weather", {"city": "Bonn"})
    assert isinstance(call, Call)
    assert row.messages[2].parts == (Result("a", (Text("Rain."),)),)
    assert row.tools == (ToolSpec("weather", "Tell it.", {"type": "object"}),)
    assert not list(doubts(row))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "no JSON object"),
        ("[1]", "no JSON object"),
        ("\xff", "no JSON object"),
        ("[" * 5000, "no JSON object"),
        ('{"a": ' * 5000, "no JSON object"),
        ('{"text": "\\ud800"}', ""),
        ('{"question": "?", "id": 1}', "it has id, question"),
        ("{}", "it has nothing"),
        ('{"text": 3}', "`$.text`"),
        ('{"text": " "}', "text is empty"),
        ('{"prompt": "a", "completion": ""}', "completion is empty"),
        ('{"messages": []}', "nothing to learn"),
        ('{"messages": [{"role": "user", "content": "a"}]}', "nothing to learn"),
        (
            '{"messages": [{"role": "user"}, {"role": "assistant", "content": "a"}]}',
            "messages[0] has no content",
        ),
        ('{"messages": [{"role": "assistant"}]}', "neither content nor tool_calls"),
        ('{"messages": [{"role": "robot", "content": "a"}]}', "`$.messages[0].role`"),
        ('{"messages": [{"role": "assistant", "content": [{"type": "image_url"}]}]}', "content"),
        (
            '{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "no"}}]}]}',
            "messages[0].tool_calls[0]: the arguments",
        ),
        (DEEP_CALL, "messages[0].tool_calls[0]: the arguments"),
        ('{"prompt": "a", "chosen": "b", "rejected": "b"}', "the same"),
        ('{"prompt": "a", "chosen": "", "rejected": "b"}', "chosen is empty"),
        ('{"prompt": [], "chosen": "a", "rejected": "b"}', "prompt must end"),
    ],
)
def test_what_is_no_row_is_refused_with_what_is_wrong(line, words):
    with pytest.raises(BadRow) as refused:
        read_row(line.encode("latin-1"))
    assert words in refused.value.message


@given(json_values)
def test_any_json_is_a_row_or_a_bad_row(value):
    with contextlib.suppress(BadRow):
        assert form_of(read_row(json.dumps(value)))


@given(st.binary(max_size=80))
def test_any_bytes_are_a_row_or_a_bad_row(line):
    with contextlib.suppress(BadRow):
        assert form_of(read_row(line))


@given(st.lists(good_rows | json_values, max_size=8), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_every_line_is_told_and_a_file_is_good_when_no_line_is_faulty(tmp_path_factory, values, end):
    path = tmp_path_factory.mktemp("rows") / "train.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + end.join(json.dumps(value) for value in values).encode())
    lines = list(lines_of(path))
    assert [json.loads(line.raw) for line in lines] == values
    assert all((line.row is None) == bool(line.fault) for line in lines)
    assert len({form_of(line.row) for line in lines if line.row is not None}) <= 1
    told = inspect(path)
    if told.good:
        assert [row for _, row in rows_of(path)] == [line.row for line in lines]
    else:
        with pytest.raises(BadRequest):
            rows_of(path)


def test_faulty_lines_are_named_by_number(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text('{"text": "a"}\n\nno\n{"prompt": "a", "completion": "b"}\n')
    with pytest.raises(BadRequest) as refused:
        rows_of(path)
    assert "train.jsonl, line 3: it is no JSON object" in refused.value.message
    assert (
        "line 4: it is a completion row; the first good row of the file is a text row"
        in refused.value.message
    )


def test_files_that_are_not_there_are_a_bad_request(tmp_path):
    with pytest.raises(BadRequest, match="cannot be read"):
        rows_of(tmp_path / "train.jsonl")


def test_an_inspection_counts_twins_and_rows_of_two_splits(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"text": "a"}\n{"text": "a"}\n{"text": "bcd"}\nno\n')
    (tmp_path / "valid.jsonl").write_text('{"text": "bcd"}\n')
    told = inspect(tmp_path)
    train, valid = told.splits
    assert (train.rows, train.faulty, train.duplicates, train.faults[0].line) == (3, 1, 1, 4)
    assert (train.characters.least, train.characters.median, train.characters.most) == (1, 1, 3)
    assert (valid.rows, told.shared, told.form, told.good) == (1, 1, "text", False)


@pytest.mark.parametrize(
    ("train", "valid", "form", "good"),
    [
        ('{"text": "a"}', "", "text", True),
        ('{"text": "a"}', "no", "text", False),
        ('{"text": "a"}', '{"prompt": "a", "completion": "b"}', None, False),
        ("", '{"text": "a"}', "text", False),
        ("", "", None, False),
    ],
)
def test_a_dataset_is_good_when_there_is_something_to_learn_and_nothing_is_faulty(
    tmp_path, train, valid, form, good
):
    (tmp_path / "train.jsonl").write_text(train)
    (tmp_path / "valid.jsonl").write_text(valid)
    told = inspect(tmp_path)
    assert (told.form, told.good) == (form, good)


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        (["user", "assistant", "user"], "behind the assistant's last"),
        (["assistant"], "begins with a message of the assistant"),
        (["user", "user", "assistant"], "two messages of the user"),
        (["user", "system", "assistant"], "a system message that is not the first"),
    ],
)
def test_what_templates_may_refuse_is_a_warning(roles, words):
    row = read_row(json.dumps({"messages": [{"role": role, "content": "a"} for role in roles]}))
    assert any(words in doubt for doubt in doubts(row))
