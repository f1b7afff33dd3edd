"""The kind of job that makes a dataset."""

from __future__ import annotations

from mlxp_lab.generating.parameters import GenerateParameters, prepare
from mlxp_lab.generating.templates import AskTemplates
from mlxp_lab.jobs import JobContext, JobKind, JobResult


def kind(templates: AskTemplates) -> JobKind[GenerateParameters]:
    """Return the kind; ``templates`` asks plugins what they bring."""

    def run(parameters: GenerateParameters, context: JobContext) -> JobResult:
        from mlxp_lab.generating.work import Work  # noqa: PLC0415  # only the process of the job works

        return Work(parameters, context, templates()).do()

    return JobKind(
        name="generate",
        summary="Make a dataset by a template: from texts by rule, or written by a served model.",
        parameters=GenerateParameters,
        prepare=lambda parameters, site: prepare(parameters, site, templates()),
        run=run,
        title=lambda parameters: parameters.name,
        device="cpu",
        resumable=True,
    )
