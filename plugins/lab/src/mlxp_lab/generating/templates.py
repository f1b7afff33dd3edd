"""All templates by name: the lab's own, and those that plugins bring."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pluggy

from mlxp_core.errors import PluginError
from mlxp_lab.generating import by_rule, conversing, from_hub, rewriting
from mlxp_lab.generating.template import Template
from mlxp_lab.jobs import BadParameters

OWN = (*by_rule.TEMPLATES, *from_hub.TEMPLATES, *rewriting.TEMPLATES, *conversing.TEMPLATES)

Templates = Mapping[str, Template]
AskTemplates = Callable[[], Templates]
"""Asks plugins what they bring."""


def gathered(manager: pluggy.PluginManager) -> Templates:
    """Return what plugins bring, in the order of the lab's own and then by name.

    Raises:
        PluginError: one of them brings something else, or two bring one name.
    """
    brought = [template for answer in manager.hook.mlxp_lab_templates() for template in answer]
    for template in brought:
        if not isinstance(template, Template):
            raise PluginError(
                f"mlxp_lab_templates returned a {type(template).__name__}, which is no Template"
            )
    names = [template.name for template in brought]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PluginError(f"two plugins bring the template {twice[0]!r}; switch one off with --disable")
    own = [template.name for template in OWN]
    return {
        template.name: template
        for template in sorted(
            brought, key=lambda each: (own.index(each.name) if each.name in own else len(own), each.name)
        )
    }


def template_named(name: str, templates: Templates) -> Template:
    """Return a template.

    Raises:
        BadParameters: there is none of that name.
    """
    if name not in templates:
        raise BadParameters(f"there is no template {name!r}, but {', '.join(templates)}", param="template")
    return templates[name]
