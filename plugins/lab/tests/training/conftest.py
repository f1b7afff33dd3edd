"""Tiny checkpoints of all families, rows to learn from, and fine-tunings that are run in this process."""

import contextlib
import json
import zlib
from pathlib import Path

import mlx.core as mx
import pytest

from mlxp_core.adapters.mounts import Mounts
from mlxp_core.cli.workbench import Bench
from mlxp_core.plugins import set_up
from mlxp_core.testing.networks import Session
from mlxp_core.workshop import open_adapter, open_model
from mlxp_core.workshop.parts import mlx_names, network_part
from mlxp_core.workshop.terms import Factors
from mlxp_lab.adapting.mlx_form import write_adapter
from mlxp_lab.jobs import Cancelled, Site
from mlxp_lab.jobs.making import Signature, making
from mlxp_lab.training.lora import chosen, dims
from mlxp_lab.training.outcome import file_name
from mlxp_lab.training.parameters import TrainParameters, prepare
from mlxp_lab.training.work import Work

TOKENS = [5, 9, 33, 100, 200, 7, 8, 60, 61, 62]
WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "it", "was", "red", "while", "two", "dogs", "ran")


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    """A workbench with the three families."""
    home = tmp_path_factory.mktemp("home")
    flags = {"plugins": {"only": ("minicpm5", "gemma4", "qwen35")}}
    return Bench(set_up(flags, config=None, environ={}, here=home, home=home))


@pytest.fixture(scope="session")
def opened(bench, tiny_checkpoints):
    """Open a tiny checkpoint."""
    return lambda name: open_model(tiny_checkpoints / name, bench)


def chats(count):
    """Conversations of different lengths."""
    for number in range(count):
        question = " ".join(WORDS[number % 7 : number % 7 + 2 + number % 5])
        answer = " ".join(WORDS[(3 * number) % 11 : (3 * number) % 11 + 1 + number % 4])
        yield {
            "messages": [
                {"role": "user", "content": question},
                {"role": "assistant", "content": answer},
                {"role": "user", "content": "and?"},
                {"role": "assistant", "content": answer[::-1]},
            ]
        }


def preferences(count):
    """Prompts with a good answer and a worse one."""
    for number in range(count):
        prompt = " ".join(WORDS[number % 5 : number % 5 + 3])
        yield {"prompt": prompt, "chosen": WORDS[number % 9], "rejected": " ".join(WORDS[number % 4 : 6])}


class Context:
    """What a job may use, in this process."""

    id = "job_here"

    def __init__(self, site, folder, *, stop_after=None):
        self.site, self.folder = site, folder
        self.resuming = folder.is_dir()
        folder.mkdir(exist_ok=True)
        self.said, self.lines, self._stop_after = [], [], stop_after

    def progress(self, fraction, message="", *, stage=""):
        assert 0 <= fraction <= 1

    def metrics(self, step, **values):
        self.said.append({"step": step, **values})

    def log(self, line):
        self.lines.append(line)

    def breathe(self):
        if self._stop_after is not None and len(self.told("loss")) >= self._stop_after:
            raise Cancelled

    def making(self, place, *, replace=False):
        return making(place, Signature(job=self.id, kind="train", attempt=1), replace=replace)

    def told(self, name):
        """Return what was said under a name, by step."""
        return {each["step"]: each[name] for each in self.said if name in each}


class School:
    """Fine-tunes tiny checkpoints in a lab of its own."""

    chats, preferences = staticmethod(chats), staticmethod(preferences)

    def __init__(self, bench, checkpoints, folder):
        self.site = Site(folder=folder / "lab", settings=bench, models=bench)
        self._checkpoints, self._folder = checkpoints, folder

    def checkpoint(self, name):
        """Return the folder of a tiny checkpoint."""
        return self._checkpoints / name

    def dataset(self, train, valid=(), name="data"):
        """Write a dataset, and return its folder."""
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        for split, rows in (("train", train), ("valid", valid)):
            lines = [json.dumps(row) for row in rows]
            if lines:
                (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
        return folder

    def __call__(self, model, data, *, stop_after=None, work="work", **asked):
        """Return the adapter's folder, what came of the job (``None`` if it was stopped), and what it said."""
        given = {"report_steps": 1, "max_tokens": 128, "replace": True, **asked}
        asking = TrainParameters(model=str(self._checkpoints / model), data=str(data), **given)
        parameters = prepare(asking, self.site)
        context = Context(self.site, self._folder / work, stop_after=stop_after)
        with contextlib.suppress(Cancelled):
            return Path(parameters.output), Work(parameters, context).do(), context
        return Path(parameters.output), None, context


@pytest.fixture
def school(bench, tiny_checkpoints, tmp_path):
    """Fine-tune in a lab of the test's own."""
    return School(bench, tiny_checkpoints, tmp_path)


class Drawer:
    """Adapters of random numbers for tiny checkpoints, among the adapters of a lab of the test's own."""

    def __init__(self, opened, site):
        self.site, self._opened = site, opened

    def __call__(self, model, name, *, rank=3, scale=2.0, targets=None, layers=None):
        """Write an adapter, and return its folder."""
        opened = self._opened(model)
        network = network_part(opened).module
        paths = chosen(network, targets or opened.family.lora_targets, layers)
        folder = self.site.adapters / name
        folder.mkdir(parents=True)
        terms = {}
        for path in paths:
            inputs, outputs = dims(dict(network.named_modules())[path])
            key = mx.random.key(zlib.crc32(f"{name} {path}".encode()))
            a, b = mx.random.split(key)
            terms[file_name(path, mlx_names(opened))] = Factors(
                mx.random.normal((inputs, rank), key=a) * 0.2 * inputs**-0.5,
                mx.random.normal((rank, outputs), key=b) * 0.2,
            )
        write_adapter(folder, terms, rank=rank, scale=scale, base_model=opened.name)
        return folder

    def context(self):
        """Return what a job may use."""
        return Context(self.site, self.site.folder.parent / "work")


@pytest.fixture
def drawer(bench, opened, tmp_path):
    """Write adapters of random numbers."""
    return Drawer(opened, Site(folder=tmp_path / "lab", settings=bench, models=bench))


@pytest.fixture
def logits(bench):
    """Say what a model folder with adapters answers to, ``[tokens, vocabulary]``, float32."""

    def said(folder, *adapters):
        model = open_model(folder, bench)
        network = model.network("float32").model
        mounts = Mounts(network)
        for adapter in adapters:
            mounts.mount(adapter.name, open_adapter(adapter), model.family)
        with mounts.rows([tuple(adapter.name for adapter in adapters)]):
            return Session(network).read([TOKENS])[0]

    return said


@pytest.fixture(scope="session")
def theirs():
    """Say what mlx-lm answers."""
    utils = pytest.importorskip("mlx_lm.utils")

    def said(folder, adapter=None):
        kind = json.loads((folder / "config.json").read_text())["model_type"]
        known = (
            {"model_type": "qwen3_5"} if kind == "qwen3_5_text" else {}
        )  # which it knows as a part of a whole
        model, _ = utils.load_model(folder, model_config=known)
        if adapter is not None:
            model = utils.load_adapters(model, str(adapter))
        model.set_dtype(mx.float32)
        return model(mx.array([TOKENS]))[0]

    return said
