"""Bars and lines, moved as downloads move them."""

import io

from rich.console import Console
from rich.progress import Progress

from mlxp_hub.display import Bars, Lines, shown
from mlxp_hub.refs import Ref
from mlxp_hub.remote import Listing, RemoteFile

REF = Ref("o/n")
A = RemoteFile(path="a", size=100, digest="1", hashed="git")
B = RemoteFile(path="b", size=50, digest="2", hashed="git")
LISTING = Listing(ref=REF, commit="c", files=(A, B))


def test_there_is_a_bar_for_each_file_and_one_for_all():
    progress = Progress(console=Console(file=io.StringIO()))
    bars = Bars(REF, progress)
    bars.planned(LISTING)
    bars.found(A, 40)
    bars.moved(A, 60)
    bars.moved(B, 10)
    assert {
        task.description.removeprefix("[bold]"): (task.completed, task.total) for task in progress.tasks
    } == {
        "o/n": (110, 150),
        "a": (100, 100),
        "b": (10, 50),
    }
    bars.arrived(A)
    assert [task.description for task in progress.tasks] == ["[bold]o/n", "b"]


def test_without_a_terminal_there_are_lines(capsys):
    with shown(REF) as watcher:
        assert isinstance(watcher, Lines)
        watcher.planned(LISTING)
        watcher.found(A, 40)
        watcher.found(B, 50)
        for _ in range(60):
            watcher.moved(A, 1)
        watcher.arrived(B)
        watcher.arrived(A)
    assert capsys.readouterr().err.splitlines() == [
        "o/n: 2 files, 0.0 MB",
        "a: going on at 40 %",
        "b: complete (1 of 2)",
        "a: complete (2 of 2)",
    ]
