"""One way to talk, over every surface that carries conversations: asked and answered through its official client.

A test speaks of turns, and has what a client has at the end; whether that came whole or as a stream must not matter.
"""

import base64
import json
from types import SimpleNamespace

import anthropic
import pytest

PATIENCE_S = 60


def data_url(image):
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"


def said(**more):
    """Return an answer: words, thinking, calls as (id, name, JSON text), why it ended, tokens, warnings."""
    return SimpleNamespace(**more)


class ChatCompletions:
    """OpenAI's chat completions."""

    stops = True
    hottest = 2.0

    def __init__(self, url, official, chat):
        self._client, self._chat = official(url), chat

    def user(self, text, *images):
        shown = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in images]
        return [{"role": "user", "content": [*shown, {"type": "text", "text": text}]}]

    def again(self, answer):
        calls = [
            {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}
            for ident, name, arguments in answer.calls
        ]
        thought = {"reasoning_content": answer.thinking} if answer.thinking else {}
        return [{"role": "assistant", "content": answer.text or None, "tool_calls": calls, **thought}]

    def results(self, answer, text, *images):
        shown = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in images]
        content = [*shown, {"type": "text", "text": text}]
        return [{"role": "tool", "tool_call_id": ident, "content": content} for ident, *_ in answer.calls]

    def ask(
        self, turns, *, stream, thinking, limit, tools=(), may_call=True, parallel=True, stop=None, **drawn
    ):
        asked = {"stop": stop} if stop else {}
        if tools:
            asked["tools"] = [{"type": "function", "function": tool} for tool in tools]
            asked["parallel_tool_calls"] = parallel
            asked["tool_choice"] = "auto" if may_call else "none"
        answer = self._chat(
            self._client,
            stream=stream,
            messages=turns,
            max_tokens=limit,
            reasoning_effort="low" if thinking else "none",
            **asked,
            **drawn,
        )
        own, usage = answer.only, answer.usage
        return said(
            text=own.text,
            thinking=own.thinking,
            calls=[tuple(call) for call in own.calls],
            reason={"tool_calls": "calls"}.get(own.reason, own.reason),
            prompt=usage.prompt_tokens,
            completion=usage.completion_tokens,
            thought=usage.completion_tokens_details.reasoning_tokens,
            warnings=own.warnings,
        )


REASONS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "calls"}
"""What this surface calls the ends of answers, and what we do."""


class Messages:
    """Anthropic's messages."""

    stops = True
    hottest = 1.0

    def __init__(self, url, official, chat):
        self._client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=PATIENCE_S)

    def close(self):
        self._client.close()

    def _shown(self, text, images):
        source = {"type": "base64", "media_type": "image/png"}
        shown = [
            {"type": "image", "source": {**source, "data": base64.b64encode(image).decode()}}
            for image in images
        ]
        return [*shown, {"type": "text", "text": text}]

    def user(self, text, *images):
        return [{"role": "user", "content": self._shown(text, images)}]

    def again(self, answer):
        return [answer.wire.to_param()]

    def results(self, answer, text, *images):
        blocks = [
            {"type": "tool_result", "tool_use_id": ident, "content": self._shown(text, images)}
            for ident, *_ in answer.calls
        ]
        return [{"role": "user", "content": blocks}]

    def ask(
        self, turns, *, stream, thinking, limit, tools=(), may_call=True, parallel=True, stop=None, **drawn
    ):
        asked = {} if stop is None else {"stop_sequences": [stop] if isinstance(stop, str) else stop}
        if tools:
            asked["tools"] = [
                {"input_schema": tool["parameters"], **{key: tool[key] for key in ("name", "description")}}
                for tool in tools
            ]
            auto = {"type": "auto", "disable_parallel_tool_use": not parallel}
            asked["tool_choice"] = auto if may_call else {"type": "none"}
        answer, warnings = self._answer(
            stream,
            model="any",
            messages=turns,
            max_tokens=limit,
            thinking={"type": "enabled", "budget_tokens": 1024} if thinking else {"type": "disabled"},
            extra_body={"temperature": 0, **drawn},
            **asked,
        )
        calls = [block for block in answer.content if block.type == "tool_use"]
        assert (answer.stop_reason == "stop_sequence") == (answer.stop_sequence is not None)
        return said(
            text="".join(block.text for block in answer.content if block.type == "text"),
            thinking="".join(block.thinking for block in answer.content if block.type == "thinking"),
            calls=[(call.id, call.name, json.dumps(call.input)) for call in calls],
            reason=REASONS[answer.stop_reason],
            prompt=answer.usage.input_tokens + answer.usage.cache_read_input_tokens,
            completion=answer.usage.output_tokens,
            thought=answer.usage.output_tokens_details.thinking_tokens,
            warnings=warnings,
            wire=answer,
        )

    def _answer(self, stream, **asked):
        """Return the message, a stream's as the client adds it up, and its warnings."""
        if not stream:
            answer = self._client.messages.create(**asked)
            return answer, (answer.model_extra.get("mlxp") or {}).get("warnings", [])
        warnings = []
        with self._client.messages.stream(**asked) as events:
            for event in events:
                if event.type == "message_delta":
                    warnings = (event.model_extra.get("mlxp") or {}).get("warnings", [])
            return events.get_final_message(), warnings


ENDS = {"response.completed", "response.incomplete"}
"""The last event; the client's own helper knows the first alone."""


class Responses:
    """OpenAI's responses; nothing is kept, so every turn is sent again."""

    stops = False
    hottest = 2.0

    def __init__(self, url, official, chat):
        self.client = official(url)

    def user(self, text, *images):
        shown = [{"type": "input_image", "image_url": data_url(image)} for image in images]
        return [{"role": "user", "content": [*shown, {"type": "input_text", "text": text}]}]

    def again(self, answer):
        return [item.model_dump(exclude_none=True) for item in answer.wire.output]

    def results(self, answer, text, *images):
        shown = [{"type": "input_image", "image_url": data_url(image)} for image in images]
        output = [*shown, {"type": "input_text", "text": text}]
        return [
            {"type": "function_call_output", "call_id": ident, "output": output} for ident, *_ in answer.calls
        ]

    def ask(self, turns, *, stream, thinking, limit, tools=(), may_call=True, parallel=True, **drawn):
        seed = drawn.pop("seed", None)
        answer = self._answer(
            stream,
            model="any",
            input=turns,
            store=False,
            max_output_tokens=limit,
            reasoning={"effort": "low" if thinking else "none"},
            tools=[{"type": "function", "strict": False, **tool} for tool in tools],
            tool_choice="auto" if may_call else "none",
            parallel_tool_calls=parallel,
            extra_body={} if seed is None else {"seed": seed},
            **{"temperature": 0, **drawn},
        )
        calls = [item for item in answer.output if item.type == "function_call"]
        thoughts = [part for item in answer.output if item.type == "reasoning" for part in item.summary]
        usage = answer.usage
        return said(
            text=answer.output_text,
            thinking="".join(part.text for part in thoughts),
            calls=[(call.call_id, call.name, call.arguments) for call in calls],
            reason=self._reason(answer, calls),
            prompt=usage.input_tokens,
            completion=usage.output_tokens,
            thought=usage.output_tokens_details.reasoning_tokens,
            warnings=answer.model_extra["mlxp"].get("warnings", []),
            wire=answer,
        )

    def _reason(self, answer, calls):
        if answer.status == "incomplete":
            assert answer.incomplete_details.reason == "max_output_tokens"
            return "length"
        assert answer.status == "completed"
        return "calls" if calls else "stop"

    def _answer(self, stream, **asked):
        """Return the response; of a stream, the last one, which must hold what the fragments add up to."""
        if not stream:
            return self.client.responses.create(**asked)
        told = {"response.output_text": "", "response.reasoning_summary_text": ""}
        with self.client.responses.stream(**asked) as events:
            for event in events:
                kind = event.type.removesuffix(".delta")
                if kind in told:
                    told[kind] += event.delta
                elif event.type in ENDS:
                    answer = event.response
        thoughts = [part for item in answer.output if item.type == "reasoning" for part in item.summary]
        assert told["response.output_text"] == answer.output_text
        assert told["response.reasoning_summary_text"] == "".join(part.text for part in thoughts)
        return answer


SURFACES = {"chat": ChatCompletions, "messages": Messages, "responses": Responses}


@pytest.fixture(scope="session")
def clients(official, chat):
    """Make the clients of a server, by surface."""
    made = []

    def make(url):
        made.append({name: surface(url, official, chat) for name, surface in SURFACES.items()})
        return made[-1]

    yield make
    for each in made:
        each["messages"].close()


@pytest.fixture(params=SURFACES)
def surface(request):
    """The name of a surface."""
    return request.param


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request):
    return request.param
