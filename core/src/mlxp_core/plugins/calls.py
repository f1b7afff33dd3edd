"""Calling a plugin's code so that whatever it raises becomes a sentence that names the plugin's fault."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from pluggy import HookCaller, HookImpl

from mlxp_core.errors import MlxpError, PluginError

T = TypeVar("T")


class PluginFault(Exception):
    """What a plugin did wrong; whoever asked knows which plugin."""


def attempt(doing: str, work: Callable[[], T]) -> T:
    """Do ``work``, which runs a plugin's code.

    Args:
        doing: what is being done, for the message.
        work: the call.

    Raises:
        PluginFault: it raised anything at all; ``SystemExit`` counts, an interrupt does not.
    """
    try:
        return work()
    except PluginFault:
        raise
    except (Exception, SystemExit) as error:  # foreign code may raise anything; it is reported, not hidden
        said = error.message if isinstance(error, MlxpError) else f"{type(error).__name__}: {error}"
        raise PluginFault(f"{doing} failed: {said}{_place(error)}") from error


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    foreign = [frame for frame in frames if "importlib" not in frame.filename]
    return f" ({foreign[-1].filename}:{foreign[-1].lineno})" if len(foreign) > 1 else ""


def implementations(caller: HookCaller) -> list[HookImpl]:
    """Return a hook's implementations in the order pluggy calls them."""
    return list(reversed(caller.get_hookimpls()))


def ask(implementation: HookImpl, arguments: Mapping[str, object]) -> object:
    """Call one implementation with those arguments that it takes."""
    return implementation.function(*(arguments[name] for name in implementation.argnames))


def checked(hook: str, answer: object, kind: type[T]) -> tuple[T, ...]:
    """Return the answer of a hook that gives a sequence of ``kind``.

    Raises:
        PluginFault: it is no sequence, or something in it is of another type.
    """
    if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
        raise PluginFault(
            f"{hook} returned {_shown(answer)}; it must return a list or tuple of {kind.__name__}"
        )
    for place, item in enumerate(answer):
        if not isinstance(item, kind):
            raise PluginFault(
                f"{hook} returned {_shown(item)} at place {place}; it must be a {kind.__name__}"
            )
    return tuple(answer)


def first_answer(caller: HookCaller, arguments: Mapping[str, object], kind: type[T], asked: str) -> T | None:
    """Return the first answer that some plugin has, or ``None``.

    Args:
        caller: a hook whose implementations give a ``kind`` or ``None``.
        arguments: of the hook, by name.
        kind: what an answer is.
        asked: what for, such as "asked for the model 'x'".

    Raises:
        MlxpError: what a plugin said on purpose, such as a download that was refused.
        PluginError: a plugin failed, or answered with something of another kind.
    """
    for implementation in implementations(caller):
        owner = implementation.plugin_name
        try:
            answer = attempt(caller.name, partial(ask, implementation, arguments))
        except PluginFault as fault:
            if isinstance(fault.__cause__, MlxpError):
                raise fault.__cause__ from fault
            raise PluginError(f"plugin {owner}, {asked}: {fault}") from fault
        if isinstance(answer, kind):
            return answer
        if answer is not None:
            raise PluginError(
                f"plugin {owner}, {asked}, answered {_shown(answer)}; it must be a {kind.__name__} or None"
            )
    return None


def _shown(value: object) -> str:
    return "None" if value is None else f"a {type(value).__qualname__}"
