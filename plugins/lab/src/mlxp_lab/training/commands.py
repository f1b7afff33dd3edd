"""``mlxp train``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec
import rich_click as click
from rich.console import Console
from rich.text import Text

from mlxp_core.contracts import Workbench
from mlxp_lab.lab import AskKinds, open_lab, site_of
from mlxp_lab.watching import exit_status, watched

if TYPE_CHECKING:
    from mlxp_lab.training.inspect import Inspection

_OPTIONS = (
    click.option("-o", "--output", metavar="NAME", help="A name among the adapters, or a folder."),
    click.option("--replace", is_flag=True, help="Replace what is there."),
    click.option("--method", help="sft, dpo or orpo.  [default: sft]"),
    click.option("--rank", type=int, help="Of each term.  [default: 8]"),
    click.option("--scale", type=float, help="What terms are multiplied by.  [default: 2]"),
    click.option("--dropout", type=float, help="Share of inputs that terms do not see.  [default: 0]"),
    click.option("--targets", metavar="NAME,NAME", help="Modules that get terms.  [default: the family's]"),
    click.option("--layers", type=int, help="Only the last so many blocks.  [default: all]"),
    click.option("--epochs", type=float, help="How often every row is seen.  [default: 3]"),
    click.option("--steps", type=int, help="Of the optimizer, in place of epochs."),
    click.option("--batch-rows", type=int, help="Rows of a pass.  [default: 4]"),
    click.option("--accumulate", type=int, help="Passes of a step.  [default: 1]"),
    click.option("--max-tokens", type=int, help="Of a row.  [default: 2048]"),
    click.option("--learn", help="answers, last or all.  [default: answers]"),
    click.option("--chat-template/--no-chat-template", default=None, help="Tell completions as chats."),
    click.option("--learning-rate", type=float, help="At its highest.  [default: usual for the method]"),
    click.option("--schedule", help="constant, linear or cosine.  [default: cosine]"),
    click.option("--warmup-steps", type=int, help="In which the rate rises.  [default: 0]"),
    click.option("--final-rate", type=float, help="At the end, as a share.  [default: 0.1]"),
    click.option("--optimizer", help="adamw, adam, sgd or lion.  [default: adamw]"),
    click.option("--weight-decay", type=float, help="Of adamw and lion.  [default: 0.01]"),
    click.option("--clip", type=float, help="Longest gradient.  [default: 1]"),
    click.option("--seed", type=int, help="Of terms, order and dropout.  [default: 0]"),
    click.option("--report-steps", type=int, help="Between two reports.  [default: 10]"),
    click.option("--eval-steps", type=int, help="Between two evaluations.  [default: 50]"),
    click.option("--checkpoint-steps", type=int, help="Between two checkpoints.  [default: 50]"),
    click.option(
        "--valid-share", type=float, help="Held out where no rows are there for it.  [default: 0.1]"
    ),
    click.option("--valid-rows", type=int, help="To evaluate with at most.  [default: all]"),
    click.option("--patience", type=int, help="Evaluations without a better one before it ends."),
    click.option("--keep", help="best or last.  [default: best]"),
    click.option("--pack/--no-pack", default=None, help="Let short rows share one."),
    click.option(
        "--buckets/--no-buckets", default=None, help="Rows of about one length.  [default: buckets]"
    ),
    click.option("--recompute/--no-recompute", default=None, help="Compute again, rather than keep."),
    click.option("--beta", type=float, help="How strongly the base holds (dpo).  [default: 0.1]"),
    click.option("--odds-weight", type=float, help="Of the odds (orpo).  [default: 0.1]"),
)


def command(kinds: AskKinds) -> click.Command:
    """Return the command; ``kinds`` asks plugins what jobs they bring."""

    @click.command
    @click.argument("model")
    @click.argument("data")
    @click.option("--inspect", "look", is_flag=True, help="Say what the rows are to MODEL; learn nothing.")
    @click.option("--json", "as_json", is_flag=True, help="With --inspect, print JSON.")
    @click.option("--detach", is_flag=True, help="Leave it to a running server.")
    @click.pass_obj
    @click.pass_context
    def train(
        ctx: click.Context,
        bench: Workbench,
        /,
        *,
        model: str,
        data: str,
        look: bool,
        as_json: bool,
        detach: bool,
        **given: object,
    ) -> None:
        """Teach MODEL with the rows of DATA: make an adapter."""
        site = site_of(bench, bench)
        asked = {name: value for name, value in given.items() if value is not None}
        if isinstance(targets := asked.get("targets"), str):
            asked["targets"] = [name.strip() for name in targets.split(",")]
        if look:
            from mlxp_lab.training.inspect import Question, inspect  # noqa: PLC0415  # others need no model

            fields = {"method", "max_tokens", "learn", "chat_template"} & asked.keys()
            question = {"model": model, "data": data, **{name: asked[name] for name in fields}}
            ctx.exit(_show(inspect(msgspec.convert(question, Question), site), as_json=as_json))
        lab = open_lab(site, kinds)
        job = lab.desk.submit("train", {"model": model, "data": data, **asked})
        if detach:
            click.echo(f"{job.id} waits for a server, or for: mlxp jobs watch {job.id}")
            return
        done = watched(lab, job.id, cancel=True)
        status = exit_status(done)
        if status == 0:
            click.echo(f"serve with it: mlxp serve {model} --adapter {job.title}={done.output}")
        ctx.exit(status)

    for option in reversed(_OPTIONS):
        option(train)
    return train


def _show(found: Inspection, *, as_json: bool) -> int:
    """Print what was found, and return the exit status: 1 = it cannot be learned from as it is."""
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
        return 0 if found.good else 1
    click.echo(f"{found.rows} {found.form or ''} rows to learn from, {found.valid_rows} to evaluate with")
    if (tokens := found.tokens) is not None:
        click.echo(
            f"{tokens.least} to {tokens.most} tokens a row, {tokens.median} in the middle; "
            f"{found.learned} of {tokens.total} are learned"
        )
    if found.dropped:
        click.echo(f"{found.dropped} rows have nothing to learn within the most tokens of a row")
    if found.sample:
        text = Text.assemble(
            *((piece.text, "bold green" if piece.learned else "dim") for piece in found.sample)
        )
        Console(file=sys.stdout).print(text)
    for fault in found.faults:
        click.echo(f"{fault.split}.jsonl, line {fault.line}: {fault.message}", err=True)
    if found.faulty > len(found.faults):
        click.echo(f"and {found.faulty - len(found.faults)} more", err=True)
    return 0 if found.good else 1
