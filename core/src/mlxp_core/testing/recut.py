"""The same run of events with its deltas cut elsewhere."""

from collections.abc import Iterable

from mlxp_core.types import CallDelta, Event, TextDelta, ThinkingDelta


def recut(events: Iterable[Event], length: int) -> tuple[Event, ...]:
    """Return the same run with its deltas cut anew, ``length`` characters each.

    Only deltas that stand next to each other are joined first, so nothing changes its place.
    """
    out: list[Event] = []
    for event in events:
        match event, out[-1] if out else None:
            case TextDelta(text=more, choice=choice), TextDelta(text=said, choice=last) if choice == last:
                out[-1] = TextDelta(said + more, choice)
            case ThinkingDelta(text=more, choice=choice), ThinkingDelta(text=said, choice=last) if (
                choice == last
            ):
                out[-1] = ThinkingDelta(said + more, choice)
            case CallDelta(index=index, arguments=more, choice=choice), CallDelta(arguments=said):
                out[-1] = CallDelta(index, said + more, choice)
            case _:
                out.append(event)
    return tuple(piece for event in out for piece in _cut(event, length))


def _cut(event: Event, length: int) -> list[Event]:
    match event:
        case TextDelta(text=text, choice=choice):
            return [TextDelta(piece, choice) for piece in _pieces(text, length)]
        case ThinkingDelta(text=text, choice=choice):
            return [ThinkingDelta(piece, choice) for piece in _pieces(text, length)]
        case CallDelta(index=index, arguments=text, choice=choice):
            return [CallDelta(index, piece, choice) for piece in _pieces(text, length)]
        case _:
            return [event]


def _pieces(text: str, length: int) -> list[str]:
    return [text[at : at + length] for at in range(0, len(text), length)]
