"""``mlxp dataset``."""

import json
import os

import pytest
from click.testing import CliRunner

from mlxp_core.cli.workbench import Bench
from mlxp_core.errors import BadRequest, NotFound
from mlxp_core.plugins import set_up
from mlxp_lab.datasets.commands import command


@pytest.fixture
def dataset(home, tmp_path):
    """Run ``mlxp dataset`` in this process."""
    bench = Bench(set_up({}, config=None, environ=os.environ, here=tmp_path, home=tmp_path))

    def run(*words, status=0):
        done = CliRunner().invoke(command([]), words, obj=bench)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == status, done.output
        return done.stdout

    return run


@pytest.fixture
def questions(tmp_path):
    """A table of ten questions."""
    file = tmp_path / "questions.csv"
    file.write_text("q,a\n" + "".join(f"{number}+1,{number + 1}\n" for number in range(10)))
    return str(file)


COLUMNS = ("-c", "prompt=q", "-c", "completion=a")


def test_a_file_is_imported_listed_split_shown_and_removed(dataset, questions):
    assert dataset("import", questions, *COLUMNS) == "questions: completion rows: 10 train\n"
    assert dataset("split", "questions") == "questions: completion rows: 9 train, 1 valid\n"
    (card,) = json.loads(dataset("list", "--json"))
    assert (card["name"], card["splits"]) == ("questions", {"train": 9, "valid": 1})
    assert "questions.csv" in dataset("list")
    rows = [json.loads(row) for row in dataset("show", "questions", "--limit", "2").splitlines()]
    assert [sorted(row) for row in rows] == [["completion", "prompt"]] * 2
    dataset("rm", "questions", "--yes")
    assert json.loads(dataset("list", "--json")) == []
    with pytest.raises(NotFound):
        dataset("rm", "questions", "--yes")


def test_an_inspection_tells_good_from_faulty_by_its_status(dataset, questions, home):
    dataset("import", questions, *COLUMNS)
    assert dataset("inspect", "questions").startswith("train: 10 completion rows, ")
    (home / "datasets" / "questions" / "train.jsonl").write_text('{"text": "a"}\nno\n')
    assert "line 2: it is no JSON object" in dataset("inspect", "questions", status=1)
    assert not json.loads(dataset("inspect", "questions", "--json", status=1))["good"]


def test_what_would_go_is_told_before_it_goes(dataset, home, questions):
    dataset("import", questions, *COLUMNS)
    file = home / "datasets" / "questions" / "train.jsonl"
    file.write_text(file.read_text() + "no\n")
    told = dataset("clean", "questions", "--dry-run")
    assert "1 rows: no row" in told
    assert "11 train" in told
    assert "10 train" in dataset("clean", "questions", "--near", "1")


def test_what_is_wrong_with_a_command_is_told(dataset, questions, tmp_path):
    dataset("import", questions, "-c", "prompt", status=2)
    dataset("import", questions, "--format", "xlsx", status=2)
    with pytest.raises(BadRequest, match="line 2: it has a, q; a row has"):
        dataset("import", questions)
    with pytest.raises(BadRequest, match="cannot be read"):
        dataset("import", str(tmp_path / "no.csv"))
    dataset("import", questions, *COLUMNS)
    with pytest.raises(BadRequest, match="no test rows"):
        dataset("show", "questions", "--split", "test")
