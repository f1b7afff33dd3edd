"""Kinds of jobs for tests: each does what it is told by files, so that a test decides when what happens."""

import os
import threading
from pathlib import Path

from msgspec import Struct

from mlxp_core import hookimpl
from mlxp_lab.generating import Field, Template, bad
from mlxp_lab.jobs import BadParameters, JobFailed, JobKind, JobResult

STEPS = 4


class Trial(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``gates``: a folder; before step i the job waits for the file i in it. ``place``: where to make something."""

    gates: str
    place: str | None = None
    replace: bool = False
    ending: str = "well"


def check(parameters, site):
    if not Path(parameters.gates).is_dir():
        raise BadParameters(f"{parameters.gates} is no folder", param="gates")
    return parameters


def passed(gate, context):
    while not gate.exists():
        context.breathe()
        threading.Event().wait(0.01)


def run(parameters, context):
    gates, saved = Path(parameters.gates), context.folder / "done"
    first = int(saved.read_text()) if context.resuming and saved.exists() else 0
    context.log(f"from step {first}")
    for step in range(first, STEPS):
        (gates / f"at-{step}").touch()
        passed(gates / str(step), context)
        saved.write_text(str(step + 1))
        context.progress((step + 1) / STEPS, f"step {step} of {STEPS}", stage="counting")
        context.metrics(step, loss=1.0 / (step + 1))
    end(parameters.ending)
    if parameters.place is None:
        return JobResult(summary={"steps": STEPS})
    place = Path(parameters.place)
    with context.making(place, replace=parameters.replace) as fresh:
        (fresh / "half").write_text("1")
        (gates / "at-making").touch()
        passed(gates / "making", context)
        (fresh / "config.json").write_text("{}")
    (gates / "at-made").touch()
    passed(gates / "made", context)
    return JobResult(output=place, summary={"steps": STEPS})


def end(ending):
    match ending:
        case "abort":
            os.write(2, b"terminating: out of memory\n")
            os.abort()
        case "exit":
            os._exit(7)
        case "refuse":
            raise JobFailed("it cannot be done; do something else")
        case "stumble":
            raise ZeroDivisionError("by zero")


def deaf(parameters, context):
    gates = Path(parameters.gates)
    (gates / "at-0").touch()
    while not (gates / "0").exists():
        threading.Event().wait(0.01)
    return JobResult()


KIND = JobKind(name="trial", summary="Count.", parameters=Trial, run=run, prepare=check, resumable=True)


@hookimpl
def mlxp_lab_jobs():
    """Return the kinds."""
    return [
        KIND,
        JobKind(name="once", summary="Count.", parameters=Trial, run=run),
        JobKind(name="light", summary="Count.", parameters=Trial, run=run, device="cpu"),
        JobKind(name="deaf", summary="Do not listen.", parameters=Trial, run=deaf),
    ]


def lines(inputs):
    """Return a text for each line."""
    if "bad" in inputs.lines("words"):
        raise bad("words", "bad is no word")
    return [lambda ask: iter([{"text": word} for word in inputs.lines("words")])]


@hookimpl
def mlxp_lab_templates():
    """Return a template."""
    fields = (Field(name="words", label="Words", type="lines", required=True),)
    return [
        Template(
            name="lines",
            label="Lines",
            summary="A text a line.",
            form="text",
            needs_model=False,
            fields=fields,
            plan=lines,
        )
    ]
