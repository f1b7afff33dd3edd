"""``mlxp fit``: how a model fits this machine, and Apple's others; nothing is loaded."""

from typing import TYPE_CHECKING

import msgspec
import rich_click as click
from rich.console import Console
from rich.table import Table

from mlxp_core.cli.selection import set_up_here
from mlxp_core.errors import SetupError
from mlxp_core.memory import fit as fit_model
from mlxp_core.memory import told
from mlxp_core.memory.plan import budget_of, by_backend
from mlxp_core.types import Budget, EngineSettings, Fit

if TYPE_CHECKING:
    from mlxp_core.plugins import Setup


@click.command
@click.argument("model")
@click.option("--context", type=click.IntRange(1), metavar="N", help="Tokens of each answer with its prompt.")
@click.option("--batch", type=click.IntRange(1), default=1, metavar="N", help="Answers at the same time.")
@click.option("--memory-budget", metavar="BYTES", help="What models may take, such as 12GB or 8GiB.")
@click.option("--config", metavar="FILE", help="The settings file, in place of ./mlxp.toml.")
@click.option("--skus", is_flag=True, help="Show every Apple computer, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as GET /fit does.")
@click.pass_context
def fit(  # noqa: PLR0917  # one for each option
    ctx: click.Context,
    model: str,
    context: int | None,
    batch: int,
    memory_budget: str | None,
    config: str | None,
    skus: bool,
    as_json: bool,
) -> None:
    """Say how MODEL fits this machine; exit status 1 when it does not.

    MODEL is a folder, or a name that a plugin can resolve.
    """
    setup = set_up_here({"engine": {"memory_budget": memory_budget}}, config)
    found = _fit(model, setup, context, batch, skus=skus)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        _show(found)
    ctx.exit(0 if found.report.fits else 1)


def _fit(ref: str, setup: "Setup", context: int | None, rows: int, *, skus: bool) -> Fit:
    from mlxp_core.cli.models import find  # `mlxp --help` needs none of this
    from mlxp_core.cli.weighing import reckon_of, this_machine_or_fail  # as above
    from mlxp_core.desk.drafter import draft_plan  # as above
    from mlxp_core.desk.reports import with_recorded  # as above
    from mlxp_core.loading import choose_family, load_frontend, open_folder  # as above

    machine, settings = this_machine_or_fail(), setup.settings.section(EngineSettings)
    folder = open_folder(find(ref, setup.registry))
    family, config = choose_family(folder, setup.registry.families)
    frontend = load_frontend(folder, setup.registry)
    if context is not None and context > folder.context:
        raise SetupError(
            f"{folder.name} reads {folder.context} tokens; --context {context} is more than that"
        )
    draft = draft_plan(setup.registry, settings)
    reckon = by_backend(reckon_of(folder, family, config, frontend.eyes, settings, draft))
    budget = Budget(budget_of(settings, machine))
    chunk = settings.prefill_chunk
    told = fit_model(folder.name, reckon, machine, budget, chunk=chunk, rows=rows, context=context, skus=skus)
    recorded = setup.registry.measured_speed(folder.path)
    return told if recorded is None else with_recorded(told, recorded)


def _show(found: Fit) -> None:
    report, machine = found.report, found.machine
    answers = "one answer" if report.rows == 1 else f"{report.rows} answers"
    speed = "unknown" if report.predicted_decode_tps is None else f"{report.predicted_decode_tps:.1f}"
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]{found.model}[/] on {machine.chip} ({machine.backend}, {told(machine.ram_bytes)})")
    table = Table(box=None, show_header=False)
    for name, value in (
        ("weights", told(report.weights_bytes)),
        ("keys and values", f"{told(report.kv_bytes)} for {answers} of {report.context_tokens} tokens"),
        ("passes", f"at most {told(report.transient_bytes)}"),
        ("together", told(report.total_bytes)),
        ("budget", told(report.usable_bytes)),
        ("fits", "[green]yes[/]" if report.fits else "[red]no[/]"),
        ("longest that fits", f"{report.max_safe_context} tokens"),
        ("tokens per second", f"{speed} (one answer, predicted){_measured(found)}"),
    ):
        table.add_row(name, value)
    console.print(table)
    if found.sku_matrix:
        _show_skus(console, found)


def _measured(found: Fit) -> str:
    if found.measured_decode_tps is None:
        return ""
    read = "" if found.measured_prefill_tps is None else f"; {found.measured_prefill_tps:,.0f} of a prompt"
    return f", {found.measured_decode_tps:.1f} measured{read}"


def _show_skus(console: Console, found: Fit) -> None:
    table = Table(title=f"one answer of {found.sku_matrix_ctx} tokens", title_justify="left")
    for name in ("computer", "fits", "longest", "tokens per second"):
        table.add_column(name, justify="left" if name == "computer" else "right")
    for sku in found.sku_matrix:
        table.add_row(sku.sku, "yes" if sku.fits else "no", str(sku.max_context), f"{sku.decode_tps:.1f}")
    console.print(table)
