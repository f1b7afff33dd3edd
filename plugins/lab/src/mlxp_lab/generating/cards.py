"""Templates as ``GET /api/dataset-templates`` shows them."""

from __future__ import annotations

from litestar import get
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from mlxp_lab.datasets.rows import Form
from mlxp_lab.generating.template import Field
from mlxp_lab.generating.templates import TEMPLATES


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


def cards() -> TemplateList:
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
            for each in TEMPLATES.values()
        )
    )


def listing() -> HTTPRouteHandler:
    """Return the route."""

    @get(
        "/api/dataset-templates",
        summary="List the templates of datasets",
        tags=["datasets"],
        sync_to_thread=False,
    )
    def templates() -> TemplateList:
        return cards()

    return templates
