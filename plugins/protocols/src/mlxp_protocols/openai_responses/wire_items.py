"""The JSON of input items that mean something to a model.

Fields that carry no words (``status``, ``caller``, ``phase`` ...) are listed so that they count as known.
"""

from typing import Literal

from msgspec import Raw, Struct, field

from mlxp_protocols.openai_responses.wire import ABSENT


class InputText(Struct, frozen=True, tag_field="type", tag="input_text"):
    """Words of anyone but the model."""

    text: str
    prompt_cache_breakpoint: Raw = ABSENT


class PlainText(Struct, frozen=True, tag_field="type", tag="text"):
    """Words, as chat completions call them."""

    text: str


class OutputText(Struct, frozen=True, tag_field="type", tag="output_text"):
    """Words of the model."""

    text: str
    annotations: Raw = ABSENT
    logprobs: Raw = ABSENT


class Refusal(Struct, frozen=True, tag_field="type", tag="refusal"):
    """A refusal of the model."""

    refusal: str


class InputImage(Struct, frozen=True, tag_field="type", tag="input_image"):
    """An image by URL; ``detail`` has no effect, the model decides the resolution."""

    image_url: str | None = None
    file_id: str | None = None
    detail: str | None = None
    prompt_cache_breakpoint: Raw = ABSENT


class InputFile(Struct, frozen=True, tag_field="type", tag="input_file"):
    """A document; refused by name."""

    file_data: Raw = ABSENT
    file_id: Raw = ABSENT
    file_url: Raw = ABSENT
    filename: Raw = ABSENT
    detail: Raw = ABSENT
    prompt_cache_breakpoint: Raw = ABSENT


class InputAudio(Struct, frozen=True, tag_field="type", tag="input_audio"):
    """Sound; refused by name."""

    input_audio: Raw = ABSENT


Part = InputText | PlainText | OutputText | Refusal | InputImage | InputFile | InputAudio
Content = str | list[Part] | None


class Message(Struct, frozen=True, tag_field="type", tag="message"):
    """What someone said; ``type`` may be absent."""

    role: Literal["user", "assistant", "system", "developer"]
    content: Content = None
    id: str | None = None
    status: str | None = None
    phase: str | None = None


class SummaryPart(Struct, frozen=True):
    """A piece of reasoning."""

    text: str
    type: str | None = None


class Reasoning(Struct, frozen=True, tag_field="type", tag="reasoning"):
    """What the model thought; ``encrypted_content`` of others cannot be read here."""

    summary: list[SummaryPart] | None = None
    content: list[SummaryPart] | None = None
    encrypted_content: str | None = None
    id: str | None = None
    status: str | None = None


class FunctionCall(Struct, frozen=True, tag_field="type", tag="function_call"):
    """A call of a function; ``arguments`` is a string of JSON, or by some clients the object itself."""

    name: str
    call_id: str | None = None
    arguments: Raw = ABSENT
    namespace: str | None = None
    id: str | None = None
    status: str | None = None
    caller: Raw = ABSENT
    created_by: Raw = ABSENT
    async_: bool | None = field(default=None, name="async")


class FunctionCallOutput(Struct, frozen=True, tag_field="type", tag="function_call_output"):
    """What a function answered: words, parts, or any JSON."""

    call_id: str | None = None
    output: Raw = ABSENT
    id: str | None = None
    name: str | None = None
    namespace: str | None = None
    status: str | None = None
    caller: Raw = ABSENT
    created_by: Raw = ABSENT


class CustomToolCall(Struct, frozen=True, tag_field="type", tag="custom_tool_call"):
    """A call of a custom tool with free text."""

    name: str
    input: str
    call_id: str | None = None
    namespace: str | None = None
    id: str | None = None
    status: str | None = None
    caller: Raw = ABSENT
    created_by: Raw = ABSENT
    async_: bool | None = field(default=None, name="async")


class CustomToolCallOutput(Struct, frozen=True, tag_field="type", tag="custom_tool_call_output"):
    """What a custom tool answered."""

    call_id: str | None = None
    output: Raw = ABSENT
    id: str | None = None
    status: str | None = None
    caller: Raw = ABSENT
    created_by: Raw = ABSENT


class LocalShellCall(Struct, frozen=True, tag_field="type", tag="local_shell_call"):
    """A command for the client's shell."""

    action: Raw = ABSENT
    call_id: str | None = None
    id: str | None = None
    status: str | None = None


class LocalShellCallOutput(Struct, frozen=True, tag_field="type", tag="local_shell_call_output"):
    """What the command printed; ``id`` is the call's, unless there is a ``call_id``."""

    id: str
    output: Raw = ABSENT
    call_id: str | None = None
    status: str | None = None


class ShellCall(Struct, frozen=True, tag_field="type", tag="shell_call"):
    """Commands for a shell."""

    action: Raw = ABSENT
    call_id: str | None = None
    id: str | None = None
    status: str | None = None
    environment: Raw = ABSENT
    caller: Raw = ABSENT
    created_by: Raw = ABSENT


class ShellCallOutput(Struct, frozen=True, tag_field="type", tag="shell_call_output"):
    """What the commands printed."""

    output: Raw = ABSENT
    call_id: str | None = None
    id: str | None = None
    status: str | None = None
    max_output_length: int | None = None
    caller: Raw = ABSENT
    created_by: Raw = ABSENT


class ApplyPatchCall(Struct, frozen=True, tag_field="type", tag="apply_patch_call"):
    """A change to a file."""

    operation: Raw = ABSENT
    call_id: str | None = None
    id: str | None = None
    status: str | None = None
    caller: Raw = ABSENT
    created_by: Raw = ABSENT


class ApplyPatchCallOutput(Struct, frozen=True, tag_field="type", tag="apply_patch_call_output"):
    """How the change went."""

    status: str
    call_id: str | None = None
    output: Raw = ABSENT
    id: str | None = None
    caller: Raw = ABSENT
    created_by: Raw = ABSENT


class ComputerCall(Struct, frozen=True, tag_field="type", tag="computer_call"):
    """Something done to a screen."""

    action: Raw = ABSENT
    actions: Raw = ABSENT
    call_id: str | None = None
    id: str | None = None
    status: str | None = None
    pending_safety_checks: Raw = ABSENT


class Screenshot(Struct, frozen=True):
    """What the screen shows now."""

    image_url: str | None = None
    file_id: str | None = None
    type: str | None = None
    detail: str | None = None


class ComputerCallOutput(Struct, frozen=True, tag_field="type", tag="computer_call_output"):
    """The screen after it."""

    output: Screenshot
    call_id: str | None = None
    id: str | None = None
    status: str | None = None
    acknowledged_safety_checks: Raw = ABSENT
    created_by: Raw = ABSENT


class McpCall(Struct, frozen=True, tag_field="type", tag="mcp_call"):
    """A call of a remote tool together with its answer."""

    id: str
    name: str
    arguments: Raw = ABSENT
    output: str | None = None
    error: Raw = ABSENT
    server_label: str | None = None
    approval_request_id: str | None = None
    status: str | None = None


class ItemReference(Struct, frozen=True, tag_field="type", tag="item_reference"):
    """An item that was stored with an earlier response."""

    id: str


Item = (
    Message
    | Reasoning
    | FunctionCall
    | FunctionCallOutput
    | CustomToolCall
    | CustomToolCallOutput
    | LocalShellCall
    | LocalShellCallOutput
    | ShellCall
    | ShellCallOutput
    | ApplyPatchCall
    | ApplyPatchCallOutput
    | ComputerCall
    | ComputerCallOutput
    | McpCall
)
"""The kinds that become part of a conversation; all others are passed over."""
