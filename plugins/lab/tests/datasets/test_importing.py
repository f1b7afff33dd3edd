"""Files of others become datasets."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxp_core.errors import BadRequest
from mlxp_lab.datasets.importing import imported, required
from mlxp_lab.datasets.rows import read_row
from mlxp_lab.datasets.tables import format_of, records

names = st.lists(
    st.text(
        st.characters(
            min_codepoint=32, exclude_characters=',\t;"', exclude_categories=["Cs", "Zl", "Zp", "Zs", "Cc"]
        ),
        min_size=1,
        max_size=8,
    ),
    min_size=1,
    max_size=4,
    unique=True,
)
cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=12)


def rows(content, kind="jsonl", columns=None):
    found = imported(content if isinstance(content, bytes) else content.encode(), kind, columns or {})
    return [json.loads(line) for line in required(found, skip_faulty=False)]


def chat(*said):
    return {"messages": [{"role": role, "content": words} for role, words in said]}


@st.composite
def tables(draw):
    head = draw(names)
    return head, draw(st.lists(st.lists(cells, min_size=len(head), max_size=len(head)), max_size=6))


@given(tables())
def test_a_csv_is_read_as_it_was_written(table):
    head, body = table
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([head, *body])
    found = list(records(text.getvalue().encode(), "csv"))
    assert [list(record.values.values()) for record in found] == body
    assert all(list(record.values) == head for record in found)


def test_quoted_commas_and_breaks_and_doubled_quotes_are_cells():
    text = 'prompt,completion\n"a, b","c\nd"\n"say ""x""",y\n'
    assert rows(text, "csv") == [
        {"prompt": "a, b", "completion": "c\nd"},
        {"prompt": 'say "x"', "completion": "y"},
    ]


@pytest.mark.parametrize("comma", [",", "\t", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_commas_and_line_ends_of_others_are_understood(comma, end):
    text = end.join(comma.join(cells) for cells in (["prompt", "completion"], ["a", "b"], ["c", "d"]))
    assert rows(text, "csv") == [{"prompt": "a", "completion": "b"}, {"prompt": "c", "completion": "d"}]


def test_a_line_of_a_csv_that_is_too_short_is_named_by_where_it_stands():
    with pytest.raises(BadRequest, match="line 4: it has 1 values for 2 columns"):
        rows('prompt,completion\n"a\nb",c\nd\n', "csv")


@pytest.mark.parametrize("text", ["a,a\n1,2\n", "a,\n1,2\n", 'a,b\n"1,2\n', ""])
def test_what_is_no_table_is_refused(text):
    with pytest.raises(BadRequest):
        rows(text, "csv")


def test_columns_are_taken_by_name_and_numbers_become_words():
    assert rows('{"q": "1+1", "a": 2}\n', columns={"prompt": "q", "completion": "a"}) == [
        {"prompt": "1+1", "completion": "2"}
    ]
    assert rows("q;a;s\nHi;Hello;Be kind\n", "csv", {"user": "q", "assistant": "a", "system": "s"}) == [
        chat(("system", "Be kind"), ("user", "Hi"), ("assistant", "Hello"))
    ]


@pytest.mark.parametrize(
    ("record", "row"),
    [
        (
            {"instruction": "Add.", "input": "1 2", "output": "3"},
            chat(("user", "Add.\n\n1 2"), ("assistant", "3")),
        ),
        (
            {"instruction": "Greet.", "input": "", "output": "Hi"},
            chat(("user", "Greet."), ("assistant", "Hi")),
        ),
        (
            {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
            chat(("user", "Hi"), ("assistant", "Hello")),
        ),
        (
            {"user": "Hi", "assistant": "Hello", "id": 3},
            {**chat(("user", "Hi"), ("assistant", "Hello")), "id": 3},
        ),
        ({"messages": json.dumps(chat(("assistant", "a"))["messages"])}, chat(("assistant", "a"))),
    ],
)
def test_shapes_that_are_often_met_become_conversations(record, row):
    assert rows(json.dumps([record]), "json") == [row]


def test_parquet_is_read():
    sink = io.BytesIO()
    talk = chat(("user", "Hi"), ("assistant", "Hello"))
    pq.write_table(pa.Table.from_pylist([talk] * 3), sink)
    assert rows(sink.getvalue(), "parquet") == [talk] * 3
    with pytest.raises(BadRequest, match="no Parquet"):
        rows(b"PAR1 or not", "parquet")


@pytest.mark.parametrize(
    ("text", "kind", "columns", "words"),
    [
        ('{"text": "a"}\nno\n', "jsonl", {}, "line 2: it is no JSON object"),
        (
            '{"text": "a"}\n{"prompt": "a", "completion": "b"}\n',
            "jsonl",
            {},
            "line 2: it is a completion row among text",
        ),
        ('{"q": "a"}\n', "jsonl", {"text": "t"}, "there is nothing in column 't'; it has q"),
        ('{"q": "a"}\n', "jsonl", {"words": "q"}, "words: fields are"),
        ('{"text": "a"}\n', "json", {}, "no JSON list"),
        ("[1]", "json", {}, "line 1: it is no JSON object"),
        ('[{"conversations": [{"from": "robot"}]}]', "json", {}, "it is from 'robot'"),
        ('[{"conversations": [{"from": ["human"]}]}]', "json", {}, "it is from ['human']"),
        ('[{"conversations": 5}]', "json", {}, "conversations must be a list"),
        ('[{"messages": "no"}]', "json", {}, "messages: it is no JSON"),
        ("prompt,completion\na,\n", "csv", {}, "line 2: completion is empty"),
        ("\n", "jsonl", {}, "no rows"),
    ],
)
def test_what_is_no_row_is_named(text, kind, columns, words):
    with pytest.raises(BadRequest) as refused:
        rows(text, kind, columns)
    assert words in refused.value.message


def test_faulty_lines_are_left_out_on_demand():
    found = imported(b'{"text": "a"}\nno\n{"text": "b"}', "jsonl", {})
    assert required(found, skip_faulty=True) == (b'{"text":"a"}', b'{"text":"b"}')
    with pytest.raises(BadRequest, match="no rows: line 1"):
        required(imported(b"no", "jsonl", {}), skip_faulty=True)


@given(st.binary(max_size=60), st.sampled_from(["jsonl", "json", "csv", "parquet"]))
def test_any_bytes_are_rows_or_a_bad_request(content, kind):
    try:
        found = imported(content, kind, {})
    except BadRequest as error:
        assert error.message  # noqa: PT017  # either is right
        return
    assert all(read_row(line) for line in found.lines)


def test_the_format_is_told_by_the_name():
    assert [format_of(name) for name in ("a.JSONL", "b.tsv", "c.parquet")] == ["jsonl", "csv", "parquet"]
    with pytest.raises(BadRequest, match="does not tell"):
        format_of("a.xlsx")
