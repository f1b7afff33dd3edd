"""Laws of wire protocols: subclass the suite, give it your protocol, a body, and the way back from bytes."""

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
import pytest

from mlxp_core.contracts import Decoded, Encoder, Exchanged, WireProtocol
from mlxp_core.testing.recut import recut
from mlxp_core.testing.replies import Answer, Reply
from mlxp_core.testing.requests import RequestLaws
from mlxp_core.testing.scripts import FAILURES, SCRIPTS, Script
from mlxp_core.types import Event, Failed, Reason, TextDelta, Usage


def read_sse(said: bytes) -> list[tuple[str | None, str]]:
    """Return the server-sent events in ``said`` as (event name, data); comments are skipped."""
    events = []
    for block in said.decode().split("\n\n"):
        fields = [line.partition(": ") for line in block.split("\n") if line and not line.startswith(":")]
        data = [value for name, _, value in fields if name == "data"]
        named = [value for name, _, value in fields if name == "event"]
        if data:
            events.append((named[0] if named else None, "\n".join(data)))
    return events


class ProtocolSuite(RequestLaws):
    """Subclass, and override ``protocol``, ``body`` and ``read_back``.

    Build the protocol with a fixed clock and fixed ids, so that equal requests give equal bytes.

    Attributes, besides those of ``RequestLaws``:
        modes: which of streaming (``True``) and whole answers (``False``) there are.
        most_choices: how many answers a request may ask for.
        tells_scores: whether log-probabilities can be told.
        tells_turns: whether thinking and calls can be told; text alone cannot.
        spells_arguments: whether arguments of calls are told as text; as a value, their spelling is lost.
        tells_usage: which counts of ``Usage`` can be told.
        reasons: what becomes of reasons that the protocol has no word for.
    """

    modes: ClassVar[tuple[bool, ...]] = (True, False)
    required: ClassVar[frozenset[str]] = frozenset({"messages"})
    most_choices: ClassVar[int] = 8
    tells_scores: ClassVar[bool] = True
    tells_turns: ClassVar[bool] = True
    spells_arguments: ClassVar[bool] = True
    tells_usage: ClassVar[frozenset[str]] = frozenset({"prompt", "cached", "completion", "thinking"})
    reasons: ClassVar[Mapping[Reason, Reason]] = {"cancelled": "stop"}

    def body(self, *, stream: bool, choices: int = 1, scores: bool = False) -> dict[str, object]:
        """Return a small valid body that asks for all a script can tell, usage included."""
        raise NotImplementedError("override `body` and return a valid request as JSON values")

    def read_back(self, said: bytes, *, stream: bool) -> Reply:
        """Return what a client makes of the bytes; a call counts only if a client would run it."""
        raise NotImplementedError("override `read_back` and parse what the encoder wrote")

    def samples(self) -> Sequence[Mapping[str, object]]:
        """Return a body for each mode."""
        return [self.body(stream=mode) for mode in self.modes]

    # ── Answers ─────────────────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
    def test_every_script_reads_back(self, protocol: WireProtocol, script: Script) -> None:
        """A client gets the text, thinking, calls, reason and usage that the engine said, in both modes."""
        for mode in self._modes(script):
            encoder = self._encoder(protocol, script, stream=mode)
            assert encoder.streaming == mode
            said = _say(encoder, script.events)
            assert encoder.failure() is None
            assert self._told(self.read_back(said, stream=mode)) == self._expected(script)

    @pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
    def test_a_whole_answer_comes_at_the_end(self, protocol: WireProtocol, script: Script) -> None:
        """Nothing is sent before the last event."""
        if False in self._modes(script):
            encoder = self._encoder(protocol, script, stream=False)
            *before, last = [encoder.feed(event) for event in script.events]
            assert not any(before)
            assert last

    @pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
    def test_any_cut_gives_the_same(self, protocol: WireProtocol, script: Script) -> None:
        """Where deltas are cut changes nothing that a client has at the end."""
        for mode in self._modes(script):
            straight = _say(self._encoder(protocol, script, stream=mode), script.events)
            for length in (1, 2, 1000):
                events = recut(script.events, length)
                said = _say(self._encoder(protocol, script, stream=mode), events)
                assert self.read_back(said, stream=mode) == self.read_back(straight, stream=mode)
                assert mode or said == straight, "a whole answer depends on how its deltas were cut"

    @pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
    def test_keep_alives_change_nothing(self, protocol: WireProtocol, script: Script) -> None:
        """A keep-alive may come between any two events."""
        for mode in self._modes(script):
            straight = _say(self._encoder(protocol, script, stream=mode), script.events)
            encoder = self._encoder(protocol, script, stream=mode)
            said = b"".join(encoder.keep_alive() + encoder.feed(event) for event in script.events)
            assert self.read_back(said, stream=mode) == self.read_back(straight, stream=mode)

    @pytest.mark.parametrize("script", [*SCRIPTS, *FAILURES], ids=lambda script: script.name)
    def test_nothing_follows_the_end(self, protocol: WireProtocol, script: Script) -> None:
        """After the last event no byte is sent."""
        for mode in self._modes(script):
            encoder = self._encoder(protocol, script, stream=mode)
            _say(encoder, script.events)
            late = [encoder.feed(event) for event in (TextDelta("late"), script.events[-1])]
            assert not any((*late, encoder.keep_alive()))

    # ── Failures ────────────────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.parametrize("script", FAILURES, ids=lambda script: script.name)
    def test_a_failure_before_any_byte_is_a_response_of_its_own(
        self, protocol: WireProtocol, script: Script
    ) -> None:
        """The client gets a true status while there still is one to send."""
        end = _failed(script)
        for mode in self._modes(script):
            encoder = self._encoder(protocol, script, stream=mode)
            events = (end,) if mode else script.events
            assert _say(encoder, events) == b""
            response = encoder.failure()
            assert response is not None
            assert response.status == self.statuses.get(end.status, end.status)
            assert end.message in response.body.decode()

    @pytest.mark.parametrize("script", FAILURES, ids=lambda script: script.name)
    def test_a_failure_midway_is_told_in_the_stream(self, protocol: WireProtocol, script: Script) -> None:
        """A stream that breaks says so, and never looks complete."""
        if True not in self._modes(script):
            return
        encoder = self._encoder(protocol, script, stream=True)
        begun = encoder.keep_alive()
        said = begun + _say(encoder, script.events)
        if not said:
            pytest.skip("this protocol had said nothing yet")
        assert encoder.failure() is None
        assert self._told(self.read_back(said, stream=True)) == self._expected(script)

    # ── What the laws stand on ──────────────────────────────────────────────────────────────────────────────────

    def _decoded(self, protocol: WireProtocol, body: Mapping[str, object]) -> Decoded:
        match self._understand(protocol, body):
            case Decoded() as decoded:
                return decoded
            case Exchanged():
                raise AssertionError(f"{self.path} is an exchange; use ExchangeSuite")

    def _modes(self, script: Script) -> tuple[bool, ...]:
        return self.modes if script.choices <= self.most_choices else ()

    def _encoder(self, protocol: WireProtocol, script: Script, *, stream: bool) -> Encoder:
        scores = script.scored and self.tells_scores
        body = self.body(stream=stream, choices=script.choices, scores=scores)
        decoded = self._decoded(protocol, body)
        assert decoded.warnings == ()
        assert decoded.request.choices == script.choices
        assert (decoded.request.top_scores is not None) == scores
        return decoded.encoder

    def _expected(self, script: Script) -> Reply:
        reply = script.reply()
        answers = []
        for answer in reply.answers:
            reason = answer.reason and self.reasons.get(answer.reason, answer.reason)
            answers.append(msgspec.structs.replace(answer, reason=reason))
        return self._told(msgspec.structs.replace(reply, answers=tuple(answers)))

    def _told(self, reply: Reply) -> Reply:
        """Return the reply without what the protocol cannot tell."""
        usage = reply.usage and Usage(**{name: getattr(reply.usage, name) for name in self.tells_usage})
        answers = reply.answers
        if not self.tells_scores:
            answers = tuple(msgspec.structs.replace(answer, scores=()) for answer in answers)
        if not self.tells_turns:
            answers = tuple(msgspec.structs.replace(answer, thinking="", calls=()) for answer in answers)
        if not self.spells_arguments:
            answers = tuple(msgspec.structs.replace(answer, calls=_values(answer)) for answer in answers)
        return msgspec.structs.replace(reply, usage=usage, answers=answers)


def _values(answer: Answer) -> tuple[tuple[str, str], ...]:
    return tuple((name, json.dumps(json.loads(arguments))) for name, arguments in answer.calls)


def _say(encoder: Encoder, events: tuple[Event, ...]) -> bytes:
    return b"".join(encoder.feed(event) for event in events)


def _failed(script: Script) -> Failed:
    end = script.events[-1]
    assert isinstance(end, Failed)
    return end
