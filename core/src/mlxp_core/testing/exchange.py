"""Laws of exchanges: subclass the suite, give it your protocol, a body, answers, and the way back from bytes."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from mlxp_core.contracts import Exchange, Exchanged, WireProtocol
from mlxp_core.testing.requests import RequestLaws, as_request
from mlxp_core.types import Answer, Question


class ExchangeSuite(RequestLaws):
    """Subclass, and override ``protocol``, ``body``, ``answers`` and ``read_back``.

    Build the protocol with fixed ids, so that equal requests give equal questions.

    Attributes:
        path: of the exchange under test.
        asks: the kind of question that ``body`` means.
        required: fields without which there is no request.
    """

    asks: ClassVar[type[Question[Answer]]]

    def body(self) -> Mapping[str, object]:
        """Return a small valid body, as JSON values."""
        raise NotImplementedError("override `body` and return a valid request as JSON values")

    def answers(self) -> Sequence[Answer]:
        """Return answers that ``body`` may get, ordinary and extreme ones."""
        raise NotImplementedError("override `answers` and return some that the question may get")

    def read_back(self, said: bytes) -> object:
        """Return what a client makes of the bytes, in any shape that can be compared with ``told``."""
        raise NotImplementedError("override `read_back` and parse what was written")

    def told(self, answer: Answer) -> object:
        """Return what a client must have of an answer."""
        raise NotImplementedError("override `told` and return what `read_back` must return for this answer")

    def samples(self) -> Sequence[Mapping[str, object]]:
        """Return the one body."""
        return (self.body(),)

    def test_the_body_means_its_question(self, protocol: WireProtocol) -> None:
        """A valid body is understood without a warning, and means what the suite says."""
        exchanged = self._exchanged(protocol)
        assert exchanged.warnings == ()
        assert type(exchanged.question) is self.asks
        assert exchanged.question.id

    def test_every_answer_reads_back(self, protocol: WireProtocol) -> None:
        """A client gets what the model's answer says."""
        for answer in self.answers():
            response = self._exchanged(protocol).render(answer)
            assert response.status == 200  # the status of success
            assert self.read_back(response.body) == self.told(answer)

    def test_equal_answers_are_equal_bytes(self, protocol: WireProtocol) -> None:
        """Rendering keeps nothing from one answer to the next."""
        exchanged = self._exchanged(protocol)
        straight = [exchanged.render(answer) for answer in self.answers()]
        assert [exchanged.render(answer) for answer in reversed(self.answers())][::-1] == straight

    def test_the_model_is_the_clients(self, protocol: WireProtocol) -> None:
        """What the client calls the model is passed on as it is; without it, nothing is."""
        for name in ("some/model", ""):
            exchanged = self._exchanged(protocol, {"model": name})
            assert exchanged.question.model == name

    def _exchanged(
        self, protocol: WireProtocol, more: Mapping[str, object] | None = None
    ) -> Exchanged[Answer]:
        match self._reads(protocol):
            case Exchange(decode=decode):
                exchanged: Exchanged[Answer] = decode(as_request({**self.body(), **(more or {})}))
                return exchanged
            case other:
                raise AssertionError(f"{other.path} generates; use ProtocolSuite")
