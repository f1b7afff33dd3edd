"""Message parts and messages, neutral between protocols."""

from typing import Literal

from msgspec import Struct

Role = Literal["system", "user", "assistant", "tool"]


class Text(Struct, frozen=True, tag_field="kind", tag="text"):
    """Words."""

    text: str


class ImageBytes(Struct, frozen=True, tag_field="kind", tag="image_bytes"):
    """An encoded image as the client sent it (already out of base64)."""

    data: bytes
    media_type: str = ""


class ImageUrl(Struct, frozen=True, tag_field="kind", tag="image_url"):
    """An image to fetch; the desk replaces it by ``ImageBytes`` or refuses."""

    url: str


class Thinking(Struct, frozen=True, tag_field="kind", tag="thinking"):
    """Reasoning of an earlier assistant turn."""

    text: str
    signature: str | None = None


class Call(Struct, frozen=True, tag_field="kind", tag="call"):
    """A tool call of an earlier assistant turn; ``arguments`` stays JSON text, so order and spelling survive."""

    id: str
    name: str
    arguments: str


class Result(Struct, frozen=True, tag_field="kind", tag="result"):
    """What a tool answered; stands in a message of role ``tool``."""

    call_id: str
    parts: tuple[Text | ImageBytes | ImageUrl, ...]
    failed: bool = False


Part = Text | ImageBytes | ImageUrl | Thinking | Call | Result


class Message(Struct, frozen=True):
    """One turn of a conversation, or a piece of one."""

    role: Role
    parts: tuple[Part, ...]
    name: str | None = None
