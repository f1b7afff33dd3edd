"""Tiny checkpoints of all families, opened in this process, and jobs that are run in it."""

import contextlib
from pathlib import Path

import pytest

from mlxp_core.cli.workbench import Bench
from mlxp_core.plugins import set_up
from mlxp_core.workshop import open_model
from mlxp_lab.jobs import Site
from mlxp_lab.jobs.making import Signature, making
from mlxp_lab.quantize.parameters import QuantizeParameters, prepare
from mlxp_lab.quantize.work import Work


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    """A workbench with the three families."""
    home = tmp_path_factory.mktemp("home")
    flags = {"plugins": {"only": ("minicpm5", "gemma4", "qwen35")}}
    return Bench(set_up(flags, config=None, environ={}, here=home, home=home))


@pytest.fixture
def opened(bench, tiny_checkpoints):
    """Open a tiny checkpoint, or a folder."""
    return lambda name: open_model(tiny_checkpoints / name, bench)


class Context:
    """What a job may use, in this process."""

    id, resuming = "job_here", False

    def __init__(self, site, folder, *, stop_after=None):
        self.site, self.folder = site, folder
        self.said, self._stop_after = [], stop_after
        folder.mkdir(exist_ok=True)

    def progress(self, fraction, message="", *, stage=""):
        self.said.append((fraction, stage))

    def log(self, line):
        self.said.append(line)

    def breathe(self):
        if self._stop_after is not None and len(self.said) >= self._stop_after:
            raise KeyboardInterrupt

    def making(self, place, *, replace=False):
        return making(place, Signature(job=self.id, kind="quantize", attempt=1), replace=replace)


class Quantizer:
    """Quantizes tiny checkpoints in a lab of its own."""

    def __init__(self, bench, checkpoints, folder):
        self.site = Site(folder=folder / "lab", settings=bench, models=bench)
        self._checkpoints, self._folder = checkpoints, folder

    def __call__(self, name, *, stop_after=None, **asked):
        """Return the new folder, what came of the job (``None`` if it was stopped), and what it said."""
        model = str(self._checkpoints / name)
        parameters = prepare(QuantizeParameters(model=model, **asked), self.site)
        context = Context(self.site, self._folder / "work", stop_after=stop_after)
        with contextlib.suppress(KeyboardInterrupt):
            return Path(parameters.output), Work(parameters, context).do(), context
        return Path(parameters.output), None, context


@pytest.fixture
def quantized(bench, tiny_checkpoints, tmp_path):
    """Quantize in a lab of the test's own."""
    return Quantizer(bench, tiny_checkpoints, tmp_path)


@pytest.fixture
def site(quantized):
    """Where its jobs are at home."""
    return quantized.site


@pytest.fixture(scope="session")
def mixed(bench, tiny_checkpoints, tmp_path_factory):
    """Quantize a tiny checkpoint to about the size of 4 bits, each module by what it hurts; once a session."""
    quantize, done = Quantizer(bench, tiny_checkpoints, tmp_path_factory.mktemp("mixed")), {}

    def once(name):
        if name not in done:
            asked = {
                "rows": 1,
                "row_tokens": 48,
                "candidate_bits": (3, 4, 6),
                "target_bpw": 4.52,
                "kv_target": 6,
            }
            done[name] = quantize(name, **asked)
        return done[name]

    return once
