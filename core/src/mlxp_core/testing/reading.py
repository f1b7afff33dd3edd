"""Reading without a tokenizer: text cut into any tokens one likes, and what was said, put together again."""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import HealthCheck, settings

from mlxp_core.reading import End, Reader
from mlxp_core.testing.grammar import check_grammar
from mlxp_core.testing.recut import recut
from mlxp_core.types import CallDelta, CallDone, CallStarted, Event, Reason, Started, TextDelta, ThinkingDelta

_WHOLE = 1 << 30

CALM = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)
"""For laws inside suites: fixtures stay the same from example to example."""


class TextTokens:
    """A tokenizer whose ordinary tokens are whatever pieces of text one asks for.

    Args:
        markers: texts that are one token each.
        special: whether these are no text themselves.
    """

    def __init__(self, markers: Iterable[str] = (), *, special: bool = True) -> None:
        self.added_tokens: Mapping[int, str] = dict(enumerate(dict.fromkeys(markers)))
        self.special_tokens: Mapping[int, str] = self.added_tokens if special else {}
        self._ids = {text: token for token, text in self.added_tokens.items()}
        self._texts: dict[int, str] = dict(self.added_tokens)

    def token(self, text: str) -> int:
        """Return an ordinary token that stands for ``text``, even where that is how a marker is written."""
        token = len(self._texts)
        self._texts[token] = text
        return token

    def tokens(self, text: str, cuts: Iterable[int] = ()) -> list[int]:
        """Return ``text`` as tokens: markers as theirs, everything else in pieces that end at ``cuts``."""
        tokens: list[int] = []
        places = sorted({0, len(text), *(cut for cut in cuts if 0 <= cut <= len(text))})
        start = at = 0
        while at < len(text):
            marker = next(
                (mark for mark in sorted(self._ids, key=len)[::-1] if text.startswith(mark, at)), None
            )
            if (marker is not None or at in places) and start < at:
                tokens.append(self.token(text[start:at]))
                start = at
            if marker is not None:
                tokens.append(self._ids[marker])
                start = at = at + len(marker)
            else:
                at += 1
        return tokens if start == len(text) else [*tokens, self.token(text[start:])]

    def token_id(self, text: str) -> int | None:
        """Return the id of a marker."""
        return self._ids.get(text)

    def token_bytes(self, token: int) -> bytes:
        """Return the text of a token in UTF-8; nothing for special ones."""
        return b"" if token in self.special_tokens else self._texts[token].encode()

    def decode(self, tokens: Sequence[int], *, special: bool = True) -> str:
        """Return the text of tokens."""
        return "".join(self._texts[token] for token in tokens if special or token not in self.special_tokens)


def read(reader: Reader, tokens: Iterable[int], reason: Reason = "stop") -> tuple[list[Event], End]:
    """Feed ``tokens``, then end with ``reason``; return everything said."""
    events = [event for token in tokens for event in reader.feed(token)]
    last, end = reader.finish(reason)
    return events + last, end


def whole(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return the events with neighbouring deltas joined, so that runs can be compared."""
    return recut(events, _WHOLE)


def shown(events: Iterable[Event]) -> str:
    """Return the visible text."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def thought(events: Iterable[Event]) -> str:
    """Return the thinking."""
    return "".join(event.text for event in events if isinstance(event, ThinkingDelta))


def called(events: Iterable[Event]) -> list[tuple[str, Any]]:
    """Return names and decoded arguments of the completed calls."""
    names: dict[int, str] = {}
    fragments: dict[int, str] = {}
    done: list[tuple[str, Any]] = []
    for event in events:
        match event:
            case CallStarted(index=index, name=name):
                names[index], fragments[index] = name, ""
            case CallDelta(index=index, arguments=fragment):
                fragments[index] += fragment
            case CallDone(index=index):
                done.append((names[index], json.loads(fragments[index])))
            case _:
                pass
    return done


def check_answer(events: Iterable[Event]) -> None:
    """Assert that what a reader said follows the grammar of events."""
    check_grammar([Started("r", "m"), *events], complete=False)


def random_cuts(length: int, seed: int) -> list[int]:
    """Return random places to cut a text: anything from nowhere to everywhere."""
    chance = random.Random(seed)  # noqa: S311 - for tests
    share = chance.choice((0.02, 0.1, 0.5, 1.0))
    return [place for place in range(length) if chance.random() < share]
