"""The JSON of tools and of the choice among them."""

from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct, field

from mlxp_protocols.openai_responses.wire import ABSENT

Name = Annotated[str, Meta(min_length=1)]


class FunctionTool(Struct, frozen=True, tag_field="type", tag="function"):
    """A function the model may call; ``parameters`` is a JSON schema. The fields at the end have no effect."""

    name: Name
    description: str | None = None
    parameters: dict[str, object] | None = None
    strict: bool | None = None
    output_schema: Raw = ABSENT
    allowed_callers: Raw = ABSENT
    defer_loading: bool | None = None
    async_: bool | None = field(default=None, name="async")


class GrammarFormat(Struct, frozen=True, tag_field="type", tag="grammar"):
    """What the input of a custom tool must match; told to the model, not enforced."""

    definition: str
    syntax: str


class TextFormat(Struct, frozen=True, tag_field="type", tag="text"):
    """Any text."""


class CustomTool(Struct, frozen=True, tag_field="type", tag="custom"):
    """A tool that takes free text; to the model it is a function with one string."""

    name: Name
    description: str | None = None
    format: GrammarFormat | TextFormat | None = None
    allowed_callers: Raw = ABSENT
    defer_loading: bool | None = None
    async_: bool | None = field(default=None, name="async")


class NamespaceTool(Struct, frozen=True, tag_field="type", tag="namespace"):
    """Tools that belong together, such as those of one server."""

    name: Name
    tools: list[Raw]
    description: str | None = None


class ToolKind(Struct, frozen=True):
    """Any tool, as far as its kind."""

    type: str


class NamedTool(Struct, frozen=True):
    """A tool by name."""

    type: str
    name: str | None = None
    namespace: str | None = None


class ToolChoice(Struct, frozen=True):
    """A choice that names tools: ``type`` says which of the other fields count."""

    type: str
    name: str | None = None
    namespace: str | None = None
    mode: Literal["auto", "required"] | None = None
    tools: list[NamedTool] | None = None
