"""Events -> the bytes of a whole chat answer."""

import msgspec
from msgspec import UNSET

from mlxp_core.types import (
    CallBroken,
    CallDelta,
    CallDone,
    CallStarted,
    Event,
    Failed,
    Finished,
    Prefilled,
    Scored,
    Started,
    TextDelta,
    ThinkingDelta,
    WireResponse,
)
from mlxp_protocols import openai_error
from mlxp_protocols.openai_answer import Head, extension_of, usage_of
from mlxp_protocols.openai_chat import wire_answer as wire
from mlxp_protocols.openai_chat.encode import REASONS, logprob_of


class _Draft:
    """One choice as far as it is said."""

    def __init__(self) -> None:
        self.seed: int | None = None
        self.text: list[str] = []
        self.thinking: list[str] = []
        self.scores: list[wire.TokenLogprob] = []
        self.calls: list[wire.ToolCall] = []
        self.open: tuple[str, str] = ("", "")  # id and name of the call being said
        self.arguments: list[str] = []
        self.end: Finished | None = None

    def take(self, event: Event) -> None:
        match event:
            case Started(seed=seed):
                self.seed = seed
            case TextDelta(text=text) | CallBroken(text=text):
                self.text.append(text)
            case ThinkingDelta(text=text):
                self.thinking.append(text)
            case CallStarted(id=call_id, name=name):
                self.open, self.arguments = (call_id, name), []
            case CallDelta(arguments=arguments):
                self.arguments.append(arguments)
            case CallDone():
                call_id, name = self.open
                function = wire.CalledFunction(name, "".join(self.arguments))
                self.calls.append(wire.ToolCall(id=call_id, function=function))
            case Scored(chosen=chosen, top=top):
                self.scores.append(logprob_of(chosen, top))
            case Finished():
                self.end = event
            case Prefilled() | Failed():
                return

    def choice(self, head: Head, index: int, end: Finished) -> wire.Choice:
        text = "".join(self.text)
        thinking = "".join(self.thinking) or UNSET
        return wire.Choice(
            index=index,
            message=wire.AnswerMessage(
                content=text if text or not self.calls else None,
                reasoning=thinking,
                reasoning_content=thinking,
                tool_calls=self.calls or UNSET,
            ),
            logprobs=wire.Logprobs(self.scores) if self.scores else None,
            finish_reason=REASONS[end.reason],
            mlxp=extension_of(end, self.seed, explain_cache=head.explain_cache),
        )


class WholeEncoder:
    """Writes one ``chat.completion`` when the last choice has ended."""

    streaming = False
    media_type = "application/json"

    def __init__(self, head: Head) -> None:
        self._head = head
        self._model = head.model
        self._drafts = [_Draft() for _ in range(head.choices)]
        self._over = False
        self._failure: WireResponse | None = None

    def feed(self, event: Event) -> bytes:
        """Return the body after the last event, and nothing before."""
        if self._over:
            return b""
        match event:
            case Failed():
                self._over = True
                self._failure = openai_error.whole(event)
                return b""
            case Started(model=model):
                self._model = model
        self._drafts[event.choice].take(event)
        return self._body()

    def keep_alive(self) -> bytes:
        """Return nothing: the body is one piece."""
        return b""

    def failure(self) -> WireResponse | None:
        """Return the error response if a choice failed."""
        return self._failure

    def _body(self) -> bytes:
        ends = [draft.end for draft in self._drafts if draft.end is not None]
        if len(ends) < len(self._drafts):
            return b""
        self._over = True
        body = wire.ChatCompletion(
            id=self._head.id,
            created=self._head.created,
            model=self._model,
            system_fingerprint=self._head.fingerprint,
            choices=[
                draft.choice(self._head, index, end)
                for index, (draft, end) in enumerate(zip(self._drafts, ends, strict=True))
            ],
            usage=usage_of(self._head, ((index, end.usage) for index, end in enumerate(ends))),
        )
        return msgspec.json.encode(body)
