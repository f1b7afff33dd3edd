"""What is asked of a job that makes a dataset."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from mlxp_core.types import ServerSettings
from mlxp_lab.datasets.shelf import Shelf
from mlxp_lab.datasets.splitting import divided
from mlxp_lab.datasets.twins import LEAST
from mlxp_lab.generating.chatting import Address, address_of
from mlxp_lab.generating.template import Inputs, Value, filled
from mlxp_lab.generating.templates import Templates, template_named
from mlxp_lab.jobs import Site

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_ANY = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  # not bound to: recognised


class GenerateParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dataset to be made.

    Attributes:
        template: by which.
        name: of the dataset.
        inputs: values of the template's fields.
        model: id of the model that writes; absent = the server's default.
        server: address of the server; absent = as ``[server]`` says. A key is sent to this machine and to that
            address alone.
        seed: of everything that is drawn; the same rows come of the same seed, as far as the server repeats itself.
        temperature: of replies.
        max_tokens: of a reply; a longer one is dropped.
        at_once: how many tasks are worked on at the same time.
        shortest: characters that an answer must have.
        near: Jaccard index from which on a row is dropped as nearly the same as an earlier one; 1 = only the same.
        valid, test: shares of rows to be set aside.
        replace: put it in the place of a dataset of that name.
    """

    template: str
    name: str
    inputs: dict[str, Value] = field(default_factory=dict)
    model: str = ""
    server: str = ""
    seed: Annotated[int, Meta(ge=0, lt=2**31)] = 0
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.7
    max_tokens: Annotated[int, Meta(ge=1, le=10**6)] = 1024
    at_once: Annotated[int, Meta(ge=1, le=64)] = 4
    shortest: Annotated[int, Meta(ge=0)] = 1
    near: Annotated[float, Meta(ge=LEAST, le=1)] = 0.8
    valid: float = 0.1
    test: float = 0.0
    replace: bool = False


def prepare(parameters: GenerateParameters, site: Site, templates: Templates) -> GenerateParameters:
    """Check what can be checked without a model, and fill in fields and address.

    Args:
        parameters: what is asked.
        site: where it is asked.
        templates: those that there are.

    Raises:
        BadParameters: one of them is wrong.
        Conflict: there is a dataset of that name.
    """
    template = template_named(parameters.template, templates)
    inputs = filled(template, parameters.inputs)
    template.plan(Inputs(inputs, parameters.seed))
    divided([], valid=parameters.valid, test=parameters.test, seed=0)
    Shelf(site.datasets).free(parameters.name, replace=parameters.replace)
    server = parameters.server or usual_server(site.settings.section(ServerSettings))
    return msgspec.structs.replace(parameters, inputs=inputs, server=str(address_of(server)))


def usual_server(settings: ServerSettings) -> str:
    """Return the address of the server of these settings."""
    host = "127.0.0.1" if settings.host in _ANY else settings.host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


def key_for(address: Address, settings: ServerSettings) -> str | None:
    """Return the key to send to a server: none to one that the settings do not know."""
    ours = address.host in _LOOPBACK or str(address) == usual_server(settings)
    return next(iter(settings.api_keys), None) if ours else None
