"""All templates by name."""

from __future__ import annotations

from mlxp_lab.generating import by_rule, conversing, from_hub, rewriting
from mlxp_lab.generating.template import Template
from mlxp_lab.jobs import BadParameters

TEMPLATES = {
    template.name: template
    for template in (*by_rule.TEMPLATES, *from_hub.TEMPLATES, *rewriting.TEMPLATES, *conversing.TEMPLATES)
}


def template_named(name: str) -> Template:
    """Return a template.

    Raises:
        BadParameters: there is none of that name.
    """
    if name not in TEMPLATES:
        raise BadParameters(f"there is no template {name!r}, but {', '.join(TEMPLATES)}", param="template")
    return TEMPLATES[name]
