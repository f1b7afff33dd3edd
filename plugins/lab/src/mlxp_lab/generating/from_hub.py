"""The template that takes rows of a dataset of the Hugging Face hub: its data files, filtered and put into shape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from mlxp_lab.datasets.tables import SUFFIXES, format_of, records
from mlxp_lab.generating.asking import Ask, Dropped, said
from mlxp_lab.generating.template import Field, Inputs, Row, Task, Template, bad
from mlxp_lab.jobs import JobFailed

_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
_QUERY = re.compile(r"(?<=\w)\?[^\s'\"]+")
"""Behind addresses of files: a signature, which lets whoever has it in."""

_CONVERTED = "refs/convert/parquet"
"""Where the hub keeps most datasets as Parquet, a folder for each configuration."""


def _plan(inputs: Inputs) -> Sequence[Task]:
    repo = inputs.text("hf_id")
    if not _REPO.fullmatch(repo) or ".." in repo or "--" in repo:
        raise bad("hf_id", f"{repo!r} names no dataset of the hub; it must be owner/name")

    def task(_: Ask) -> Iterator[Row | Dropped]:
        kept, most = 0, inputs.number("max_rows")
        for path in fetched(repo, inputs.text("config"), inputs.text("split")):
            for values in _records(path, inputs):
                if most and kept >= most:
                    return
                made = _row(values, inputs)
                kept += isinstance(made, dict)
                yield made

    return [task]


def _records(path: Path, inputs: Inputs) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a file.

    Raises:
        JobFailed: a column is missing; says which there are.
    """
    needed = {inputs.text(name) for name in ("text_column", "answer_column", "label_column")} - {""}
    for record in records(path.read_bytes(), format_of(path.name)):
        if record.values is None:
            continue
        missing = sorted(needed - set(record.values))
        if missing:
            raise JobFailed(f"there is no column {', '.join(missing)}, but {', '.join(record.values)}")
        yield record.values


def _row(values: Mapping[str, Any], inputs: Inputs) -> Row | Dropped:
    label = inputs.text("label_column")
    if label and str(values[label]) != inputs.text("label_filter"):
        return Dropped("another label", str(values[label]))
    found = values[inputs.text("text_column")]
    if isinstance(found, list):
        return {"messages": found}
    text = _words(found)
    if len(text) < inputs.number("min_chars"):
        return Dropped("too short", text)
    answer = inputs.text("answer_column")
    if not answer:
        return {"text": text}
    return {"messages": [said("user", text), said("assistant", _words(values[answer]))]}


def _words(value: object) -> str:
    return "" if value is None else str(value).strip()


def fetched(repo: str, config: str, split: str) -> list[Path]:
    """Return files of a dataset, fetched into the hub's own cache.

    Args:
        repo: the dataset.
        config: its configuration; empty = the only one, or the default.
        split: as ``train``.

    Raises:
        JobFailed: there is no such dataset, or it has no such files; or what fetches it is not installed.
    """
    try:
        import httpx2  # noqa: PLC0415  # comes with huggingface-hub
        from huggingface_hub import HfApi  # noqa: PLC0415  # an extra; nothing else of the lab needs it
        from huggingface_hub.errors import HfHubHTTPError, RevisionNotFoundError  # noqa: PLC0415  # as above
    except ImportError as error:
        raise JobFailed("datasets of the hub take: pip install 'mlxp-lab[hub]'") from error
    api = HfApi()

    def listed(revision: str) -> list[str]:
        told = api.dataset_info(repo, revision=revision)
        return [each.rfilename for each in told.siblings or ()]

    try:
        try:
            revision, paths = _CONVERTED, listed(_CONVERTED)
        except RevisionNotFoundError:
            revision, paths = "main", listed("main")
        return [
            Path(api.hf_hub_download(repo, path, repo_type="dataset", revision=revision))
            for path in chosen(paths, config, split)
        ]
    except (HfHubHTTPError, httpx2.HTTPError, OSError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        reason = _QUERY.sub("", reason)
        raise JobFailed(f"{repo} cannot be fetched from {api.endpoint}: {reason}") from error


def chosen(paths: Sequence[str], config: str, split: str) -> list[str]:
    """Return those data files that belong to a configuration and a split, in order.

    Raises:
        JobFailed: there are none, or several configurations of which none was named.
    """
    data = [
        path for path in sorted(paths) if PurePosixPath(path).suffix in SUFFIXES and not path.startswith(".")
    ]
    of_split = [path for path in data if split in re.split(r"[/_.-]", path)]
    configs = sorted({PurePosixPath(path).parts[0] for path in of_split if "/" in path} - {"data"})
    usual = config or next((name for name in ("default", "main") if name in configs), "")
    if not usual and len(configs) > 1:
        raise JobFailed(f"the dataset has several configurations; name one of {', '.join(configs)}")
    found = [path for path in of_split if not usual or usual in PurePosixPath(path).parts[:-1]]
    if not found:
        raise JobFailed(
            f"there are no files of {split!r}{f' in {config!r}' if config else ''}, but {', '.join(data) or 'none'}"
        )
    return found


TEMPLATES = (
    Template(
        name="hf_dataset_import",
        label="A dataset of the hub",
        summary="Rows of a dataset of the Hugging Face hub: texts, or questions with answers, filtered.",
        form="text",
        needs_model=False,
        fields=(
            Field(name="hf_id", label="Dataset", type="line", required=True, hint="owner/name"),
            Field(name="config", label="Configuration", type="line", hint="where there are several"),
            Field(name="split", label="Split", type="line", default="train"),
            Field(
                name="text_column",
                label="Column of texts",
                type="line",
                default="text",
                hint="or of messages",
            ),
            Field(name="answer_column", label="Column of answers", type="line", hint="makes conversations"),
            Field(name="label_column", label="Column of labels", type="line"),
            Field(name="label_filter", label="The label to keep", type="line"),
            Field(name="max_rows", label="Most rows", type="number", default=1000, hint="0 = all"),
            Field(name="min_chars", label="Least characters", type="number", default=200),
        ),
        plan=_plan,
    ),
)
