"""What a fine-tuning takes, and what is wrong with it before anything is computed."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from mlxp_lab.datasets.rows import MOST_TOLD, PreferenceRow, lines_of
from mlxp_lab.datasets.shelf import Shelf, split_file
from mlxp_lab.jobs import BadParameters, Site
from mlxp_lab.outputs import output_place
from mlxp_lab.quantize.parameters import appraised

Count = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, lt=1)]
Positive = Annotated[float, Meta(gt=0)]

Method = Literal["sft", "dpo", "orpo"]
Learn = Literal["answers", "last", "all"]

RATES: dict[Method, float] = {"sft": 2e-4, "dpo": 2e-5, "orpo": 1e-5}
"""Learning rates that are meant where none is said."""

_LOOKED_AT = 1000
"""Rows that are looked at before the job is kept; the job looks at all."""


class TrainParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fine-tuning.

    Attributes:
        model: a folder, or a name that a plugin knows.
        data: a dataset's name, a folder with train.jsonl, or a file of JSON lines.
        method: ``sft`` learns answers; ``dpo`` and ``orpo`` learn what is preferred, from rows with two answers.
        output: a name among the adapters, or a folder; absent = after model and data.
        replace: whether a folder that is there may be replaced.
        rank: of each term.
        scale: what terms are multiplied by.
        dropout: share of the inputs that terms do not see while they learn.
        targets: names of the modules that get terms; none = all that the family lists.
        layers: only the last so many blocks get terms; absent = all.
        epochs: how often every row is seen.
        steps: of the optimizer; counts in place of ``epochs``.
        batch_rows: rows of a pass.
        accumulate: passes of a step.
        max_tokens: of a row; what is longer is cut.
        learn: the assistant's answers, the last of them, or every token.
        chat_template: whether prompt and completion are told as a conversation where the model has a template.
        learning_rate: at its highest; absent = usual for the method.
        schedule: how it falls after its rise.
        warmup_steps: in which it rises.
        final_rate: at the end, as a share of the highest.
        optimizer: which.
        weight_decay: of ``adamw`` and ``lion``.
        clip: longest gradient; absent = as long as it is.
        seed: of the terms, the order of rows and dropout.
        report_steps: after how many steps the loss is told.
        eval_steps: after how many steps the held-out rows are evaluated.
        checkpoint_steps: after how many steps everything is saved that it takes to go on.
        valid_share: of the rows are held out where the dataset has no rows for it.
        valid_rows: evaluate with so many rows at most; absent = all.
        patience: evaluations without a better one after which it ends; absent = it goes on.
        keep: the best adapter, by the held-out rows, or the last one.
        pack: whether short rows share one row of a pass; not for models that carry state.
        buckets: whether rows of a pass are about equally long.
        recompute: whether blocks compute again what they need on the way back, rather than keep it: slower, in less
            memory.
        beta: how strongly the base holds (``dpo``).
        odds_weight: of the odds beside the answers (``orpo``).
    """

    model: str
    data: str
    method: Method = "sft"
    output: str | None = None
    replace: bool = False
    rank: Annotated[int, Meta(ge=1, le=1024)] = 8
    scale: Positive = 2.0
    dropout: Share = 0.0
    targets: tuple[str, ...] = ()
    layers: Count | None = None
    epochs: Positive = 3.0
    steps: Count | None = None
    batch_rows: Count = 4
    accumulate: Count = 1
    max_tokens: Annotated[int, Meta(ge=2)] = 2048
    learn: Learn = "answers"
    chat_template: bool = True
    learning_rate: Positive | None = None
    schedule: Literal["constant", "linear", "cosine"] = "cosine"
    warmup_steps: Annotated[int, Meta(ge=0)] = 0
    final_rate: Annotated[float, Meta(ge=0, le=1)] = 0.1
    optimizer: Literal["adamw", "adam", "sgd", "lion"] = "adamw"
    weight_decay: Annotated[float, Meta(ge=0)] = 0.01
    clip: Positive | None = 1.0
    seed: Annotated[int, Meta(ge=0)] = 0
    report_steps: Count = 10
    eval_steps: Count = 50
    checkpoint_steps: Count = 50
    valid_share: Share = 0.1
    valid_rows: Count | None = None
    patience: Count | None = None
    keep: Literal["best", "last"] = "best"
    pack: bool = False
    buckets: bool = True
    recompute: bool = False
    beta: Positive = 0.1
    odds_weight: Positive = 0.1

    @property
    def rate(self) -> float:
        """Return the highest learning rate."""
        return RATES[self.method] if self.learning_rate is None else self.learning_rate


def prepare(parameters: TrainParameters, site: Site) -> TrainParameters:
    """Check, look at the first rows, and fill in the places.

    Raises:
        BadParameters: says which parameter, and what to do.
    """
    told, source = appraised(parameters.model, site)
    data = Shelf(site.datasets).find(parameters.data)
    train = split_file(data, "train")
    if train is None:
        raise BadParameters(f"{data} has no train.jsonl", param="data")
    check_rows(train, parameters.method)
    if parameters.pack and parameters.method != "sft":
        raise BadParameters("only rows of sft can be packed; leave pack off", param="pack")
    name = parameters.output or f"{told.name.rpartition('/')[2]}-{data.stem if data.is_file() else data.name}"
    reads = (source, data)
    place = output_place(name, site.adapters, site, replace=parameters.replace, reads=reads)
    return replace(parameters, model=str(source), data=str(data), output=str(place))


def check_rows(path: Path, method: Method) -> None:
    """Look at the first rows of a file.

    Raises:
        BadParameters: rows are faulty, or not what the method learns from; names the lines.
    """
    faults, rows = [], 0
    for line in islice(lines_of(path), _LOOKED_AT):
        fault = line.fault if line.row is None else misfit(line.row, method)
        rows += 1
        if fault is not None:
            faults.append(f"line {line.number}: {fault}")
    if faults:
        more = f" (and {len(faults) - MOST_TOLD} more)" if len(faults) > MOST_TOLD else ""
        raise BadParameters(f"{path.name}, {'; '.join(faults[:MOST_TOLD])}{more}", param="data")
    if not rows:
        raise BadParameters(f"{path} has no rows", param="data")


def misfit(row: object, method: Method) -> str | None:
    """Return why a method cannot learn from a row, if it cannot."""
    preferred = isinstance(row, PreferenceRow)
    if method == "sft" and preferred:
        return "sft learns answers, and this row has two to choose from; use method dpo or orpo"
    if method != "sft" and not preferred:
        return f"{method} learns from rows with prompt, chosen and rejected"
    return None
