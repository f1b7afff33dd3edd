"""Laws of requests, whatever they are answered with; the suites for endpoints and for exchanges stand on them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlxp_core.contracts import Decoded, Endpoint, Exchange, Exchanged, Query, WireProtocol
from mlxp_core.errors import BadRequest, MlxpError
from mlxp_core.types import Answer, GenerateRequest, Question, Sampling, WireRequest

_NO_OBJECTS = [b"", b"{", b"nonsense", b"null", b"[]", b'"text"', b"1", b'{"a": "\xff"}', b"[" * 100_000]

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)

Understood = Decoded | Exchanged[Answer]


class RequestLaws:
    """What every path holds to that reads a body. Subclass one of the suites instead.

    Attributes:
        path: of the endpoint under test.
        required: fields without which there is no request.
        statuses: what becomes of HTTP statuses that the protocol knows by another number.
    """

    path: ClassVar[str]
    required: ClassVar[frozenset[str]]
    statuses: ClassVar[Mapping[int, int]] = {}

    @pytest.fixture
    def protocol(self) -> WireProtocol:
        """Return the protocol under test."""
        raise NotImplementedError("override the fixture `protocol` and return the WireProtocol under test")

    def samples(self) -> Sequence[Mapping[str, object]]:
        """Return small valid bodies, as JSON values."""
        raise NotImplementedError("subclass ProtocolSuite or ExchangeSuite")

    @pytest.mark.parametrize("body", _NO_OBJECTS, ids=lambda body: repr(body[:12]))
    def test_a_body_that_is_no_json_object_is_a_bad_request(
        self, protocol: WireProtocol, body: bytes
    ) -> None:
        """Rubbish is refused, never crashes."""
        with pytest.raises(BadRequest):
            self._reads(protocol).decode(WireRequest(body=body))

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
        body = data.draw(st.sampled_from(self.samples()))
        strange = data.draw(st.dictionaries(names, _JSON, max_size=3))
        try:
            understood = self._reads(protocol).decode(as_request({**body, **strange}))
        except BadRequest as error:
            assert error.message  # noqa: PT017  # raising is allowed, not required
        else:
            assert _asked(understood).id

    def test_every_field_has_one_treatment(self, protocol: WireProtocol) -> None:
        """The manifest names every field that is read, once."""
        names = [field.name for field in protocol.fields]
        assert sorted(set(names)) == sorted(names)
        read = {field.name for field in protocol.fields if field.treatment != "refused"}
        shape = self._shape(protocol)
        assert shape <= read, f"not in the manifest: {sorted(shape - read)}"

    def test_refused_fields_are_refused_by_name(self, protocol: WireProtocol) -> None:
        """Asking for what we do not do is an error that says so."""
        for field in protocol.fields:
            if field.treatment == "refused":
                with pytest.raises(BadRequest, match=field.name):
                    self._understand(protocol, self.samples()[0], {field.name: {"asked": "for"}})

    def test_null_is_absent(self, protocol: WireProtocol) -> None:
        """JSON null means that nothing was said."""
        shape = self._shape(protocol)
        for plain in self.samples():
            bare = _comparable(self._understand(protocol, plain))
            for field in protocol.fields:
                elsewhere = field.treatment == "honoured" and field.name not in shape
                if elsewhere or field.name in self.required or field.name in plain:
                    continue
                understood = self._understand(protocol, plain, {field.name: None})
                assert _comparable(understood) == bare, f"{field.name}: null is not absent"

    def test_unknown_fields_are_reported(self, protocol: WireProtocol) -> None:
        """A field that nobody knows is no error, and no secret."""
        understood = self._understand(protocol, self.samples()[0], {"no_such_field": 1})
        assert any("no_such_field" in warning for warning in understood.warnings)

    def test_what_is_found_later_is_told_by_fields_of_the_body(self, protocol: WireProtocol) -> None:
        """Names stand for fields of requests, and are among those that the manifest lists."""
        listed = {field.name for field in protocol.fields if field.treatment != "refused"}
        for plain in self.samples():
            understood = self._understand(protocol, plain)
            ours = {*_fields(type(_asked(understood))), *_fields(GenerateRequest), *_fields(Sampling)}
            assert {name.partition(".")[0] for name in understood.names} <= ours
            assert {name.partition(".")[0] for name in understood.names.values()} <= listed

    def test_errors_keep_status_message_and_headers(self, protocol: WireProtocol) -> None:
        """Any error of the tree is rendered, its status as the protocol knows it."""
        for kind in _tree(MlxpError):
            response = protocol.render_error(kind("what, where, what to do", headers=(("Retry-After", "3"),)))
            assert response.status == self.statuses.get(kind.status, kind.status)
            assert "what, where, what to do" in response.body.decode()
            assert response.headers["Retry-After"] == "3"

    def _reads(self, protocol: WireProtocol) -> Endpoint | Exchange:
        for endpoint in protocol.endpoints:
            match endpoint:
                case Endpoint(path=self.path) | Exchange(path=self.path):
                    return endpoint
                case Endpoint() | Exchange() | Query():
                    continue
        raise AssertionError(f"{protocol.name} reads no body at {self.path}; set `path`")

    def _understand(
        self, protocol: WireProtocol, body: Mapping[str, object], more: Mapping[str, object] | None = None
    ) -> Understood:
        return self._reads(protocol).decode(as_request({**body, **(more or {})}))

    def _shape(self, protocol: WireProtocol) -> set[str]:
        accepts = self._reads(protocol).accepts
        assert accepts is not None, f"{self.path} takes no body"
        return {field.encode_name for field in msgspec.structs.fields(accepts)}


def as_request(body: Mapping[str, object]) -> WireRequest:
    """Return a request with this body."""
    return WireRequest(body=json.dumps(body).encode())


def _asked(understood: Understood) -> GenerateRequest | Question[Answer]:
    match understood:
        case Decoded(request=request):
            return request
        case Exchanged(question=question):
            return question


def _comparable(understood: Understood) -> tuple[object, tuple[str, ...]]:
    return msgspec.structs.replace(_asked(understood), id=""), understood.warnings


def _fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    return kind.__struct_fields__


def _tree(kind: type[MlxpError]) -> Iterator[type[MlxpError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)
