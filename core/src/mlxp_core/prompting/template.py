"""A model's chat template, rendered as Hugging Face renders it: sandboxed Jinja with a few additions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NoReturn

import jinja2
import jinja2.ext
import jinja2.meta
from jinja2 import nodes
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from mlxp_core.errors import BadRequest, ModelFolderError
from mlxp_core.prompting.traits import TemplateMessage, TemplateTool, probe

_FAULTS = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a template may raise: its own refusals, and what follows from values it did not expect."""


class ChatTemplate:
    """Compiled once, rendered from any thread.

    Attributes:
        source: the text of all its variants.
        variables: names that the template reads from outside.
        traits: what kinds of conversation it takes.
    """

    def __init__(
        self,
        source: str,
        *,
        with_tools: str | None = None,
        tokens: Mapping[str, str] | None = None,
        image: str | None = None,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        """Compile a template.

        Args:
            source: the template.
            with_tools: a second one, for requests with tools, where the model has it.
            tokens: token strings by variable name, such as ``bos_token``.
            image: what stands for an image in a prompt; ``None`` = the model has no eyes.
            now: the clock behind ``strftime_now``; local time.

        Raises:
            ModelFolderError: when a template cannot be parsed; names the line.
        """
        environment = _environment(now)
        sources = (source,) if with_tools is None else (source, with_tools)
        self.source = "\n".join(sources)
        compiled = [_compile(environment, text) for text in sources]
        self._plain, self._with_tools = compiled[0], compiled[-1]
        self.variables = frozenset[str]().union(*(_variables(environment, text) for text in sources))
        self._tokens = dict(tokens or {})
        self.traits = probe(self.render, image=image)

    def render(
        self,
        messages: Sequence[TemplateMessage],
        *,
        tools: Sequence[TemplateTool] = (),
        prime: bool = True,
        extras: Mapping[str, object] | None = None,
    ) -> str:
        """Return the prompt text.

        Args:
            messages: the conversation.
            tools: tools to offer; without any the template sees ``None``.
            prime: whether the text ends where the answer begins (``add_generation_prompt``).
            extras: further variables.

        Raises:
            BadRequest: when the template refuses the conversation; carries the template's own words.
        """
        template = self._with_tools if tools else self._plain
        variables = {**self._tokens, **(extras or {})}
        try:
            return template.render(
                **variables,
                messages=list(messages),
                tools=list(tools) or None,
                documents=None,
                add_generation_prompt=prime,
            )
        except _FAULTS as fault:
            raise BadRequest(
                f"the model's chat template refuses this conversation: {fault}", param="prompt"
            ) from fault

    def mentions(self, text: str) -> bool:
        """Say whether ``text`` occurs in the template's source."""
        return text in self.source


class _GenerationTag(jinja2.ext.Extension):
    """``{% generation %}``: marks the assistant's words for training; here its body is simply rendered."""

    tags = frozenset({"generation"})  # type: ignore[assignment]  # Jinja declares a mutable set

    def parse(self, parser: Parser) -> nodes.Node:
        """Return the body in a scope of its own."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


def _environment(now: Callable[[], datetime]) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda layout: now().strftime(layout)
    return environment


def _compile(environment: jinja2.Environment, source: str) -> jinja2.Template:
    try:
        return environment.from_string(source)
    except jinja2.TemplateSyntaxError as error:
        raise ModelFolderError(
            f"the chat template is broken at line {error.lineno}: {error.message}"
        ) from error
    except (MemoryError, OverflowError, RecursionError, SyntaxError, ValueError) as error:
        raise ModelFolderError(f"the chat template cannot be compiled: {error}") from error


def _variables(environment: jinja2.Environment, source: str) -> set[str]:
    return jinja2.meta.find_undeclared_variables(environment.parse(source))


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Stand in for Jinja's ``tojson``, which escapes HTML and sorts keys."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)
