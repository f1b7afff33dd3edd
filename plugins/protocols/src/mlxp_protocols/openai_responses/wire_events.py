"""The JSON of the events of a stream; ``type`` is also the name of the server-sent event."""

from msgspec import Struct

from mlxp_protocols.openai_responses.wire_answer import Logprob, OutputItem, OutputText, Response, SummaryText


class Created(Struct, frozen=True, tag_field="type", tag="response.created"):
    """The response begins."""

    sequence_number: int
    response: Response


class InProgress(Struct, frozen=True, tag_field="type", tag="response.in_progress"):
    """The response is under way; told again when there is nothing else to say for long."""

    sequence_number: int
    response: Response


class Completed(Struct, frozen=True, tag_field="type", tag="response.completed"):
    """The response ended by itself."""

    sequence_number: int
    response: Response


class Incomplete(Struct, frozen=True, tag_field="type", tag="response.incomplete"):
    """The response was cut: by its limit, or because it was cancelled."""

    sequence_number: int
    response: Response


class Broke(Struct, frozen=True, tag_field="type", tag="response.failed"):
    """The response cannot go on."""

    sequence_number: int
    response: Response


class ItemAdded(Struct, frozen=True, tag_field="type", tag="response.output_item.added"):
    """An item begins."""

    sequence_number: int
    output_index: int
    item: OutputItem


class ItemDone(Struct, frozen=True, tag_field="type", tag="response.output_item.done"):
    """An item is as it will stay."""

    sequence_number: int
    output_index: int
    item: OutputItem


class PartAdded(Struct, frozen=True, tag_field="type", tag="response.content_part.added"):
    """A part of a message begins."""

    sequence_number: int
    item_id: str
    output_index: int
    content_index: int
    part: OutputText


class PartDone(Struct, frozen=True, tag_field="type", tag="response.content_part.done"):
    """A part of a message is as it will stay."""

    sequence_number: int
    item_id: str
    output_index: int
    content_index: int
    part: OutputText


class Words(Struct, frozen=True, tag_field="type", tag="response.output_text.delta"):
    """More of the text."""

    sequence_number: int
    item_id: str
    output_index: int
    content_index: int
    delta: str
    logprobs: tuple[Logprob, ...]


class WordsDone(Struct, frozen=True, tag_field="type", tag="response.output_text.done"):
    """The text, whole."""

    sequence_number: int
    item_id: str
    output_index: int
    content_index: int
    text: str
    logprobs: tuple[Logprob, ...]


class SummaryAdded(Struct, frozen=True, tag_field="type", tag="response.reasoning_summary_part.added"):
    """A part of the reasoning begins."""

    sequence_number: int
    item_id: str
    output_index: int
    summary_index: int
    part: SummaryText


class SummaryDone(Struct, frozen=True, tag_field="type", tag="response.reasoning_summary_part.done"):
    """A part of the reasoning is as it will stay."""

    sequence_number: int
    item_id: str
    output_index: int
    summary_index: int
    part: SummaryText


class Thoughts(Struct, frozen=True, tag_field="type", tag="response.reasoning_summary_text.delta"):
    """More of the reasoning."""

    sequence_number: int
    item_id: str
    output_index: int
    summary_index: int
    delta: str


class ThoughtsDone(Struct, frozen=True, tag_field="type", tag="response.reasoning_summary_text.done"):
    """The reasoning, whole."""

    sequence_number: int
    item_id: str
    output_index: int
    summary_index: int
    text: str


class Arguments(Struct, frozen=True, tag_field="type", tag="response.function_call_arguments.delta"):
    """More of the arguments of a call."""

    sequence_number: int
    item_id: str
    output_index: int
    delta: str


class ArgumentsDone(Struct, frozen=True, tag_field="type", tag="response.function_call_arguments.done"):
    """The arguments, whole."""

    sequence_number: int
    item_id: str
    output_index: int
    arguments: str


class CustomInput(Struct, frozen=True, tag_field="type", tag="response.custom_tool_call_input.delta"):
    """More of the input of a custom call."""

    sequence_number: int
    item_id: str
    output_index: int
    delta: str


class CustomInputDone(Struct, frozen=True, tag_field="type", tag="response.custom_tool_call_input.done"):
    """The input, whole."""

    sequence_number: int
    item_id: str
    output_index: int
    input: str


StreamEvent = (
    Created
    | InProgress
    | Completed
    | Incomplete
    | Broke
    | ItemAdded
    | ItemDone
    | PartAdded
    | PartDone
    | Words
    | WordsDone
    | SummaryAdded
    | SummaryDone
    | Thoughts
    | ThoughtsDone
    | Arguments
    | ArgumentsDone
    | CustomInput
    | CustomInputDone
)
