"""When there is no room, and when it is time to go."""

import signal
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

ENDLESS = {
    "model": "",
    "messages": [{"role": "user", "content": "Hello"}],
    "temperature": 0,
    "max_tokens": 3000,
    "logit_bias": {"1": -100, "25": -100},
}
"""An answer that takes seconds, as its end tokens are forbidden."""

SHORT = {**ENDLESS, "max_tokens": 2}


def test_beyond_the_queue_clients_are_told_when_to_come_back(live, sketch, official):
    with live(sketch, flags={"engine": {"batch": 1, "queue": 2}}) as served:
        client = official(served.url)
        stream = client.chat.completions.create(**ENDLESS, stream=True)
        next(stream)
        with ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(client.chat.completions.create, **SHORT) for _ in range(2)]
            while served.engine._mail.load < 3:
                served.call(lambda: None)
            for asked in (SHORT, {**SHORT, "stream": True}):
                with pytest.raises(openai.RateLimitError) as refused:
                    client.chat.completions.create(**asked)
                assert int(refused.value.response.headers["retry-after"]) >= 1
                assert refused.value.body["code"] == "rate_limit_exceeded"
            assert client.models.list().data, "questions are answered all the same"
            stream.close()
            assert [one.result().usage.completion_tokens for one in waiting] == [2, 2]
        assert client.chat.completions.create(**SHORT).usage.completion_tokens == 2


def read(stream):
    """Return the text, the reason and our extension of a stream that ends properly."""
    text, reason, extra = "", None, {}
    for chunk in stream:
        (choice,) = chunk.choices
        text += choice.delta.content or ""
        reason = choice.finish_reason or reason
        extra |= choice.model_extra.get("mlxp", {})
    return text, reason, extra


def stop_while_speaking(running, client, asked):
    """Ask three times, send SIGTERM when all have begun, and return what each stream said to its end."""
    streams = [client.chat.completions.create(**asked, stream=True) for _ in range(3)]
    for stream in streams:
        next(stream)
    running.process.signal(signal.SIGTERM)
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(read, streams))


def test_at_a_signal_running_answers_are_finished(process, sketch, official):
    running = process(sketch)
    client = official(running.url)
    asked = {**ENDLESS, "max_tokens": 400}
    text = client.chat.completions.create(**asked).choices[0].message.content
    for said, reason, _ in stop_while_speaking(running, client, asked):
        assert text.endswith(said)
        assert reason == "length"
    assert running.process.wait() == 0
    with pytest.raises(openai.APIConnectionError):
        client.models.list()


def test_after_its_grace_answers_are_cut_but_end_properly(process, sketch, official):
    running = process(sketch, "--grace-s", "0.1")
    asked = {**ENDLESS, "max_tokens": 3900}
    for said, reason, extra in stop_while_speaking(running, official(running.url), asked):
        assert said
        assert (reason, extra["cancelled"]) == ("stop", True)
    assert running.process.wait() == 0
