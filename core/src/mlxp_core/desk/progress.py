"""How far a request is, read off what the engine has said of it."""

from collections.abc import Iterable

from msgspec.structs import replace

from mlxp_core.types import ChoiceProgress, Event, Failed, Finished, Prefilled, Started


def progress(events: Iterable[Event], choices: int) -> tuple[ChoiceProgress, ...]:
    """Return the state of each choice after these events.

    Args:
        events: of all choices, in the order they were said.
        choices: how many there are.
    """
    states = [ChoiceProgress(choice=choice) for choice in range(choices)]
    for event in events:
        states[event.choice] = after(states[event.choice], event)
    return tuple(states)


def after(state: ChoiceProgress, event: Event) -> ChoiceProgress:
    """Return the state of a choice after an event of its own."""
    match event:
        case Started():
            return replace(state, state="prefilling")
        case Prefilled(done=done, total=total):
            return replace(state, state="prefilling", read=done, prompt=total)
        case Finished() | Failed():
            return replace(state, state="ended")
        case _:
            return state if state.state == "generating" else replace(state, state="generating")
