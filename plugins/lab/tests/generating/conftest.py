"""A served model whose replies a test decides, and jobs that ask it."""

import os
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from mlxp_core.cli.workbench import Bench
from mlxp_core.plugins import set_up
from mlxp_core.testing.client import SKETCH, serve
from mlxp_core.types import (
    CallDelta,
    CallDone,
    CallStarted,
    Finished,
    Started,
    Text,
    TextDelta,
    Timing,
    Usage,
)
from mlxp_lab.generating.parameters import GenerateParameters, prepare
from mlxp_lab.generating.templates import OWN
from mlxp_lab.generating.work import Work
from mlxp_lab.jobs.making import Signature, making
from mlxp_lab.lab import site_of
from mlxp_protocols.native import plugin as native
from mlxp_protocols.openai_chat import plugin as openai_chat

TEMPLATES = {template.name: template for template in OWN}


class Context:
    """What a job may use, in this process."""

    id, resuming = "job_here", False

    def __init__(self, site, folder):
        self.site, self.folder = site, folder
        self.lines, self.fractions = [], []
        folder.mkdir(exist_ok=True)

    def progress(self, fraction, message="", *, stage=""):
        self.fractions.append(fraction)

    def metrics(self, step, **values):
        pass

    def log(self, line):
        self.lines.append(line)

    def breathe(self):
        pass

    def making(self, place, *, replace=False):
        return making(place, Signature(job=self.id, kind="generate", attempt=1), replace=replace)


@pytest.fixture
def site_with(home, tmp_path):
    """A site whose user has set further variables."""

    def make(environ):
        setup = set_up({}, config=None, environ={**os.environ, **environ}, here=tmp_path, home=tmp_path)
        bench = Bench(setup)
        return site_of(bench, bench)

    return make


@pytest.fixture
def site(site_with):
    return site_with({})


@pytest.fixture
def generate_with(site_with, tmp_path):
    """Make a dataset in this process, with further variables; returns what is told of it."""

    def run(environ, template, inputs, *, context=None, **more):
        site = site_with(environ)
        asked = GenerateParameters(template=template, name="made", inputs=inputs, replace=True, **more)
        context = context or Context(site, tmp_path / "work")
        (context.folder / "made.jsonl").unlink(missing_ok=True)
        return Work(prepare(asked, site, TEMPLATES), context, TEMPLATES).do()

    return run


@pytest.fixture
def generate(generate_with):
    """Make a dataset in this process; returns what is told of it."""
    return lambda *args, **kwargs: generate_with({}, *args, **kwargs)


@pytest.fixture
def context(site, tmp_path):
    return Context(site, tmp_path / "work")


def heard(request):
    """Return the last message of a request, and the instructions before it."""
    words = [
        "".join(part.text for part in message.parts if isinstance(part, Text)) for message in request.prompt
    ]
    return words[-1], words[0]


def told(reply):
    """Return the events of a reply: text, or calls as (name, arguments)."""
    end = "stop" if isinstance(reply, str) else "calls"
    yield Started("", "")
    if isinstance(reply, str):
        yield TextDelta(reply)
    else:
        for index, (name, arguments) in enumerate(reply):
            yield CallStarted(index, f"call_{index}", name)
            yield CallDelta(index, arguments)
            yield CallDone(index)
    yield Finished(end, Usage(), Timing())


@pytest.fixture
def writer():
    """Serve a model that replies as told: a function of the last message and the first, or one of the order."""

    @contextmanager
    def begin(reply=None, *, script=None, plugins=(), **more):
        played = script or (lambda order: told(reply(*heard(order.request))))
        protocols = [*native.mlxp_protocols(), *openai_chat.mlxp_protocols()]
        models = [replace(SKETCH, context=8192)]
        with serve(protocols, played, models=models, plugins=plugins, **more) as served:
            yield served

    return begin
