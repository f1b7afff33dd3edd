"""How a dataset is made: tasks, several at once; their rows are kept as they come, sifted, and put in place."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mlxp_core.types import ServerSettings
from mlxp_lab.datasets.doubts import whole
from mlxp_lab.datasets.keeping import write
from mlxp_lab.datasets.rows import BadRow, read_row
from mlxp_lab.datasets.shelf import Origin, Shelf
from mlxp_lab.datasets.sieve import NO_ROW, Limits, Sieve
from mlxp_lab.datasets.splitting import lines_dealt
from mlxp_lab.generating.asking import Ask, Dropped
from mlxp_lab.generating.chatting import Manner, Server, address_of
from mlxp_lab.generating.parameters import GenerateParameters, key_for
from mlxp_lab.generating.template import Inputs, Task
from mlxp_lab.generating.templates import Templates, template_named
from mlxp_lab.jobs import JobContext, JobFailed, JobResult

_LOOK_S = 0.2
_SHOWN = 3
_TOLD = 200
"""Examples in the result, and characters of what was dropped in the log."""


class Made(Struct, frozen=True, kw_only=True):
    """What came of a task: lines of rows, and what was dropped with the reason."""

    task: int
    lines: tuple[str, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()


class Work:
    """One run."""

    def __init__(self, parameters: GenerateParameters, context: JobContext, templates: Templates) -> None:
        """Know what to do.

        Args:
            parameters: what is asked.
            context: of the job.
            templates: those that there are.
        """
        self._asked = parameters
        self._context = context
        self._template = template_named(parameters.template, templates)
        self._dropped: Counter[str] = Counter()

    def do(self) -> JobResult:
        """Make the dataset.

        Raises:
            JobFailed: the server does not answer, or no row is worth keeping.
        """
        self._mend()
        tasks = self._template.plan(Inputs(self._asked.inputs, self._asked.seed))
        model = ""
        if self._template.needs_model:
            model = self._written(tasks)
        else:
            for number, task in enumerate(tasks):
                self._keep(_done(number, task, _nobody))
        lines, texts = self._sifted()
        return self._placed(lines, texts, model)

    def _written(self, tasks: Sequence[Task]) -> str:
        """Have a model do those tasks that are not done yet, and return its id."""
        settings = self._context.site.settings.section(ServerSettings)
        address = address_of(self._asked.server)
        server = Server(address, key_for(address, settings))
        model = server.model(self._asked.model)
        manner = Manner(
            model=model,
            temperature=self._asked.temperature,
            seed=self._asked.seed,
            tokens=self._asked.max_tokens,
        )
        done = {made.task for made in self._kept()}
        left = [number for number in range(len(tasks)) if number not in done]
        with ThreadPoolExecutor(self._asked.at_once) as pool:
            try:
                pending = {
                    pool.submit(_done, number, tasks[number], server.asker(manner, number)) for number in left
                }
                for count, made in enumerate(self._coming(pending), start=1 + len(done)):
                    self._keep(made)
                    self._context.progress(
                        0.95 * count / len(tasks), f"{count} of {len(tasks)}", stage="generating"
                    )
            except BaseException:
                server.stop()
                pool.shutdown(cancel_futures=True)
                raise
        return model

    def _coming(self, pending: set[Future[Made]]) -> Iterator[Made]:
        while pending:
            self._context.breathe()
            done, pending = wait(pending, _LOOK_S, FIRST_COMPLETED)
            for each in done:
                yield each.result()

    @property
    def _file(self) -> Path:
        return self._context.folder / "made.jsonl"

    def _keep(self, made: Made) -> None:
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(made) + b"\n")

    def _kept(self) -> list[Made]:
        """Return what was made, by task."""
        content = self._file.read_bytes() if self._file.exists() else b""
        found = {made.task: made for made in msgspec.json.Decoder(Made).decode_lines(content)}
        return [found[task] for task in sorted(found)]

    def _mend(self) -> None:
        """Drop a line that was cut off when the job was killed; its task is done anew."""
        if self._file.exists():
            os.truncate(self._file, self._file.read_bytes().rfind(b"\n") + 1)

    def _sifted(self) -> tuple[list[bytes], list[str]]:
        """Return the lines that are worth keeping, and what each says."""
        sieve = Sieve(Limits(shortest=self._asked.shortest, near=self._asked.near))
        lines, texts = list[bytes](), list[str]()
        for made in self._kept():
            for reason, text in made.dropped:
                self._drop(reason, text)
            for line in made.lines:
                try:
                    row = read_row(line)
                except BadRow as error:
                    self._drop(NO_ROW, f"{error.message}: {line}")
                    continue
                why = sieve.take(row)
                if why is not None:
                    self._drop(why, whole(row))
                    continue
                lines.append(line.encode())
                texts.append(whole(row))
        self._context.metrics(len(lines), rows=len(lines), dropped=self._dropped.total())
        if not lines:
            why = ", ".join(f"{why} ({count})" for why, count in self._dropped.most_common())
            raise JobFailed(f"no row is worth keeping: {why or 'nothing was made'}")
        return lines, texts

    def _drop(self, why: str, text: str) -> None:
        self._dropped[why] += 1
        self._context.log(f"dropped, {why}: {' '.join(text[:_TOLD].split())}")

    def _placed(self, lines: list[bytes], texts: list[str], model: str) -> JobResult:
        asked = self._asked
        dealt = lines_dealt(lines, texts, valid=asked.valid, test=asked.test, seed=asked.seed)
        origin = Origin(kind="generate", source=model, template=asked.template, seed=asked.seed)
        place = Shelf(self._context.site.datasets).place_of(asked.name)
        with self._context.making(place, replace=asked.replace) as fresh:
            write(fresh, dealt, origin)
        examples: list[Any] = [msgspec.json.decode(line) for line in lines[:_SHOWN]]
        summary = {
            "name": asked.name,
            "template": asked.template,
            "model": model,
            **{("rows" if split == "train" else split): len(part) for split, part in dealt.items()},
            "dropped": dict(self._dropped),
            "examples": examples,
        }
        return JobResult(output=place, summary=summary)


def _done(number: int, task: Task, ask: Ask) -> Made:
    """Do a task to its end, or to where it comes to nothing."""
    lines: list[str] = []
    dropped: list[tuple[str, str]] = []
    try:
        for made in task(ask):
            if isinstance(made, Dropped):
                dropped.append((made.why, made.text))
            else:
                lines.append(msgspec.json.encode(made).decode())
    except Dropped as error:
        dropped.append((error.why, error.text))
    return Made(task=number, lines=tuple(lines), dropped=tuple(dropped))


def _nobody(*_: object, **__: object) -> Any:
    raise JobFailed("this template asks no model")
