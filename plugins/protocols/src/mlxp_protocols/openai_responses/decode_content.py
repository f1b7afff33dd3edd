"""Parts of messages and of tool outputs -> neutral parts."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from mlxp_core.errors import BadRequest
from mlxp_core.types import ImageBytes, ImageUrl, Text
from mlxp_protocols import images
from mlxp_protocols.openai_responses import wire_items as wire

Shown = Text | ImageBytes | ImageUrl


def shown(content: wire.Content, place: str) -> tuple[Shown, ...]:
    """Return content that may hold images.

    Args:
        content: a string, or parts.
        place: path of the message, for errors.

    Raises:
        BadRequest: a part of a kind that we refuse by name, or a damaged image.
    """
    match content:
        case None:
            return ()
        case str():
            return (Text(content),)
        case list():
            return tuple(_part(part, f"{place}.content[{at}]") for at, part in enumerate(content))


def words(content: wire.Content, place: str) -> tuple[Text, ...]:
    """Return content that may hold no images; errors as in ``shown``."""
    read: list[Text] = []
    for at, part in enumerate(shown(content, place)):
        match part:
            case Text():
                read.append(part)
            case ImageBytes() | ImageUrl():
                where = f"{place}.content[{at}]"
                raise BadRequest(
                    f"{where}: images are not allowed in this role; send text, or move it to a user message",
                    param=where,
                )
    return tuple(read)


def result(output: Raw, place: str) -> tuple[Shown, ...]:
    """Return what a tool answered: words, parts, or any other JSON as its text; errors as in ``shown``.

    Args:
        output: any JSON.
        place: path of the field, for errors.
    """
    spelled = bytes(output)
    match spelled[:1]:
        case b'"':
            return (Text(msgspec.json.decode(spelled, type=str)),)
        case b"[":
            parts = _parts(output)
            if parts is not None:
                return tuple(_part(part, f"{place}[{at}]") for at, part in enumerate(parts))
        case b"n":
            return ()
    return (Text(spelled.decode()),)


def screenshot(seen: wire.Screenshot, place: str) -> tuple[Shown, ...]:
    """Return what a screen showed; errors as in ``shown``."""
    return (_image(seen.image_url, place),)


def _parts(output: Raw) -> Sequence[wire.Part] | None:
    try:
        return msgspec.json.decode(output, type=list[wire.Part])
    except msgspec.ValidationError:
        return None


def _part(part: wire.Part, place: str) -> Shown:
    match part:
        case (
            wire.InputText(text=text)
            | wire.PlainText(text=text)
            | wire.OutputText(text=text)
            | wire.Refusal(refusal=text)
        ):
            return Text(text)
        case wire.InputImage(image_url=url):
            return _image(url, place)
        case wire.InputFile():
            raise _refused("input_file", place)
        case wire.InputAudio():
            raise _refused("input_audio", place)


def _image(url: str | None, place: str) -> ImageBytes | ImageUrl:
    where = f"{place}.image_url"
    if url is None:
        raise BadRequest(
            f"{where}: is missing; files are not kept here, send the image as a URL", param=where
        )
    return images.from_url(url, where)


def _refused(kind: str, place: str) -> BadRequest:
    return BadRequest(f"{place}: content of type {kind} is not supported; send text or images", param=place)
