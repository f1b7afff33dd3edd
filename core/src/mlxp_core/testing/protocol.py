"""Laws of wire protocols: subclass the suite, give it your protocol, a body, and the way back from bytes."""

import json
from collections.abc import Iterator, Mapping
from typing import ClassVar

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlxp_core.contracts import Decoded, Encoder, Endpoint, WireProtocol
from mlxp_core.errors import BadRequest, MlxpError
from mlxp_core.testing.recut import recut
from mlxp_core.testing.replies import Answer, Reply
from mlxp_core.testing.scripts import FAILURES, SCRIPTS, Script
from mlxp_core.types import Event, Failed, Reason, TextDelta, Usage, WireRequest

_NO_OBJECTS = [b"", b"{", b"nonsense", b"null", b"[]", b'"text"', b"1", b'{"a": "\xff"}', b"[" * 100_000]

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


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


class ProtocolSuite:
    """Subclass, and override ``protocol``, ``body`` and ``read_back``.

    Build the protocol with a fixed clock and fixed ids, so that equal requests give equal bytes.

    Attributes:
        path: of the endpoint under test.
        modes: which of streaming (``True``) and whole answers (``False``) there are.
        required: fields without which there is no request.
        most_choices: how many answers a request may ask for.
        tells_scores: whether log-probabilities can be told.
        spells_arguments: whether arguments of calls are told as text; as a value, their spelling is lost.
        tells_usage: which counts of ``Usage`` can be told.
        reasons: what becomes of reasons that the protocol has no word for.
        statuses: what becomes of HTTP statuses that the protocol knows by another number.
    """

    path: ClassVar[str]
    modes: ClassVar[tuple[bool, ...]] = (True, False)
    required: ClassVar[frozenset[str]] = frozenset({"messages"})
    most_choices: ClassVar[int] = 8
    tells_scores: ClassVar[bool] = True
    spells_arguments: ClassVar[bool] = True
    tells_usage: ClassVar[frozenset[str]] = frozenset({"prompt", "cached", "completion", "thinking"})
    reasons: ClassVar[Mapping[Reason, Reason]] = {"cancelled": "stop"}
    statuses: ClassVar[Mapping[int, int]] = {}

    @pytest.fixture
    def protocol(self) -> WireProtocol:
        """Return the protocol under test."""
        raise NotImplementedError("override the fixture `protocol` and return the WireProtocol under test")

    def body(self, *, stream: bool, choices: int = 1, scores: bool = False) -> dict[str, object]:
        """Return a small valid body that asks for all a script can tell, usage included."""
        raise NotImplementedError("override `body` and return a valid request as JSON values")

    def read_back(self, said: bytes, *, stream: bool) -> Reply:
        """Return what a client makes of the bytes; a call counts only if a client would run it."""
        raise NotImplementedError("override `read_back` and parse what the encoder wrote")

    # ── Requests ────────────────────────────────────────────────────────────────────────────────────────────────

    @pytest.mark.parametrize("body", _NO_OBJECTS, ids=lambda body: repr(body[:12]))
    def test_a_body_that_is_no_json_object_is_a_bad_request(
        self, protocol: WireProtocol, body: bytes
    ) -> None:
        """Rubbish is refused, never crashes."""
        with pytest.raises(BadRequest):
            self._endpoint(protocol).decode(WireRequest(body=body))

    # Subclasses share this method and make a protocol each; both are meant, and neither holds any state.
    @settings(
        max_examples=150,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(data=st.data())
    def test_only_bad_request_is_ever_raised(self, protocol: WireProtocol, data: st.DataObject) -> None:
        """Whatever stands in the fields, the client hears what is wrong with it."""
        names = st.sampled_from([field.name for field in protocol.fields]) | st.text()
        body = self.body(stream=data.draw(st.booleans()))
        body |= data.draw(st.dictionaries(names, _JSON, max_size=3))
        try:
            decoded = self._endpoint(protocol).decode(_request(body))
        except BadRequest as error:
            assert error.message  # noqa: PT017  # raising is allowed, not required
        else:
            assert decoded.request.id

    def test_every_field_has_one_treatment(self, protocol: WireProtocol) -> None:
        """The manifest names every field that is read, once."""
        names = [field.name for field in protocol.fields]
        assert sorted(set(names)) == sorted(names)
        shape = {field.encode_name for field in msgspec.structs.fields(self._endpoint(protocol).accepts)}
        read = {field.name for field in protocol.fields if field.treatment != "refused"}
        assert shape <= read, f"not in the manifest: {sorted(shape - read)}"

    def test_refused_fields_are_refused_by_name(self, protocol: WireProtocol) -> None:
        """Asking for what we do not do is an error that says so."""
        for field in protocol.fields:
            if field.treatment == "refused":
                with pytest.raises(BadRequest, match=field.name):
                    self._decode(protocol, stream=True, extra={field.name: {"asked": "for"}})

    def test_null_is_absent(self, protocol: WireProtocol) -> None:
        """JSON null means that nothing was said."""
        for mode in self.modes:
            plain = self.body(stream=mode)
            bare = _comparable(self._endpoint(protocol).decode(_request(plain)))
            for field in protocol.fields:
                if field.name in self.required or field.name in plain:
                    continue
                decoded = self._decode(protocol, stream=mode, extra={field.name: None})
                assert _comparable(decoded) == bare, f"{field.name}: null is not absent"

    def test_unknown_fields_are_reported(self, protocol: WireProtocol) -> None:
        """A field that nobody knows is no error, and no secret."""
        decoded = self._decode(protocol, stream=True, extra={"no_such_field": 1})
        assert any("no_such_field" in warning for warning in decoded.warnings)

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

    def test_errors_keep_status_message_and_headers(self, protocol: WireProtocol) -> None:
        """Any error of the tree is rendered, its status as the protocol knows it."""
        for kind in _tree(MlxpError):
            response = protocol.render_error(kind("what, where, what to do", headers=(("Retry-After", "3"),)))
            assert response.status == self.statuses.get(kind.status, kind.status)
            assert "what, where, what to do" in response.body.decode()
            assert response.headers["Retry-After"] == "3"

    # ── What the laws stand on ──────────────────────────────────────────────────────────────────────────────────

    def _endpoint(self, protocol: WireProtocol) -> Endpoint:
        for endpoint in protocol.endpoints:
            if isinstance(endpoint, Endpoint) and endpoint.path == self.path:
                return endpoint
        raise AssertionError(f"{protocol.name} has no endpoint {self.path}; set `path`")

    def _decode(self, protocol: WireProtocol, *, stream: bool, extra: Mapping[str, object]) -> Decoded:
        return self._endpoint(protocol).decode(_request({**self.body(stream=stream), **extra}))

    def _modes(self, script: Script) -> tuple[bool, ...]:
        return self.modes if script.choices <= self.most_choices else ()

    def _encoder(self, protocol: WireProtocol, script: Script, *, stream: bool) -> Encoder:
        scores = script.scored and self.tells_scores
        body = self.body(stream=stream, choices=script.choices, scores=scores)
        decoded = self._endpoint(protocol).decode(_request(body))
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
        if not self.spells_arguments:
            answers = tuple(msgspec.structs.replace(answer, calls=_values(answer)) for answer in answers)
        return msgspec.structs.replace(reply, usage=usage, answers=answers)


def _request(body: Mapping[str, object]) -> WireRequest:
    return WireRequest(body=json.dumps(body).encode())


def _values(answer: Answer) -> tuple[tuple[str, str], ...]:
    return tuple((name, json.dumps(json.loads(arguments))) for name, arguments in answer.calls)


def _say(encoder: Encoder, events: tuple[Event, ...]) -> bytes:
    return b"".join(encoder.feed(event) for event in events)


def _failed(script: Script) -> Failed:
    end = script.events[-1]
    assert isinstance(end, Failed)
    return end


def _comparable(decoded: Decoded) -> tuple[object, tuple[str, ...]]:
    return msgspec.structs.replace(decoded.request, id=""), decoded.warnings


def _tree(kind: type[MlxpError]) -> Iterator[type[MlxpError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)
