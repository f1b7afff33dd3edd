"""Templates as ``GET /api/dataset-templates`` shows them."""

from __future__ import annotations

from litestar import get
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from mlxp_lab.datasets.rows import Form
from mlxp_lab.generating.template import Field
from mlxp_lab.generating.templates import AskTemplates, Templates


class TemplateCard(Struct, frozen=True, kw_only=True):
    """One template, and what to fill in."""

    name: str
    label: str
    summary: str
    form: Form
    needs_model: bool
    fields: tuple[Field, ...]


class TemplateList(Struct, frozen=True, kw_only=True):
    """Every template."""

    templates: tuple[TemplateCard, ...]


def cards(templates: Templates) -> TemplateList:
    """Return all of them."""
    return TemplateList(
        templates=tuple(
            TemplateCard(
                name=each.name,
                label=each.label,
                summary=each.summary,
                form=each.form,
                needs_model=each.needs_model,
                fields=each.fields,
            )
            for each in templates.values()
        )
    )


def listing(ask: AskTemplates) -> HTTPRouteHandler:
    """Return the route; ``ask`` asks plugins what they bring."""

    @get(
        "/api/dataset-templates",
        summary="List the templates of datasets",
        tags=["datasets"],
        sync_to_thread=True,
    )
    def templates() -> TemplateList:
        return cards(ask())

    return templates
