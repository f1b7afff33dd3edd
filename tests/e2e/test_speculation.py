"""Guessing behind a real server: the same answers, and numbers that add up, whatever was guessed when."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from msgspec import Struct

from mlxp_core.errors import SetupError

TEXTS = ("Say it again and again. " * 9, "Count to three. " * 12, "Hello", "A long walk home, " * 20)
LENGTH = 40


class Trial(Struct, frozen=True):
    """A model, and what guesses for it: a mode, or a model."""

    model: str
    speculate: str = "off"
    draft: str | None = None

    def __str__(self):
        return f"{self.model}, {self.draft or self.speculate}"


TRIALS = (
    *(Trial(family, "lookup") for family in ("sketch", "minicpm5", "qwen35-text", "gemma4-e2b-text")),
    Trial("qwen35-text", "head"),
    Trial("qwen35-moe", "head"),
    *(Trial(family, draft=family) for family in ("minicpm5", "qwen35-text", "gemma4-e2b-text")),
)


@pytest.fixture
def begin(live, sketch, tiny_checkpoints):
    """Serve the model of a trial: the one that is always there, or one of each family."""

    def folder(name):
        return sketch if name == "sketch" else tiny_checkpoints / name

    def serve(trial):
        draft = {} if trial.draft is None else {"draft_model": str(folder(trial.draft))}
        return live(folder(trial.model), flags={"engine": {"speculate": trial.speculate, **draft}})

    return serve


@pytest.fixture(scope="module")
def without():
    """What was said without guesses, by model."""
    return {}


@pytest.fixture
def hear(begin, official, chat):
    """Have conversations with a model, several at the same time; return all answers, and totals."""

    def ask(client, number):
        messages = [{"role": "user", "content": TEXTS[number % len(TEXTS)]}]
        warm = {"temperature": 0.4, "seed": number} if number % 2 else {}
        first = chat(client, stream=number > 2, messages=messages, max_tokens=LENGTH, **warm)
        messages.append({"role": "assistant", "content": first.only.text})
        messages.append({"role": "user", "content": "And then?"})
        return first, chat(client, stream=False, messages=messages, max_tokens=6, **warm)

    def converse(trial):
        with begin(trial) as served, ThreadPoolExecutor(3) as pool:
            client = official(served.url)
            turns = list(pool.map(lambda number: ask(client, number), range(6)))
            totals = httpx.get(f"{served.url}/stats").json()["totals"]
        return [answer for turn in turns for answer in turn], totals

    return converse


def told(answers):
    return [(one.only.text, one.only.thinking, one.only.reason) for one in answers]


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_answers_are_those_without_guesses_and_what_was_guessed_is_told(hear, without, trial):
    if trial.model not in without:
        without[trial.model] = told(hear(Trial(trial.model))[0])
    answers, totals = hear(trial)
    assert told(answers) == without[trial.model]
    usages = [one.usage.completion_tokens_details for one in answers]
    accepted = sum(usage.accepted_prediction_tokens or 0 for usage in usages)
    rejected = sum(usage.rejected_prediction_tokens or 0 for usage in usages)
    assert (totals["accepted_tokens"], totals["guessed_tokens"]) == (accepted, accepted + rejected)
    assert totals["device_s"] > 0
    if trial.speculate != "lookup":  # a network always guesses
        assert totals["guessed_tokens"]
    if trial.draft == trial.model:  # and one's own twin guesses right
        assert accepted > rejected


@pytest.mark.parametrize(
    ("trial", "why"),
    [
        (Trial("minicpm5", "head"), "family 'minicpm5' has none"),
        (Trial("qwen35-4bit-g64", "head"), "its files hold no tensors"),
        (Trial("minicpm5", draft="qwen35-text"), "qwen35-text cannot guess for minicpm5: "),
    ],
    ids=str,
)
def test_what_cannot_guess_is_refused_by_name(begin, trial, why):
    with pytest.raises(SetupError, match=why), begin(trial):
        pass


def test_a_drafter_that_nobody_knows_is_refused_by_name(live, sketch):
    flags = {"engine": {"draft_model": "no/such-model"}}
    with pytest.raises(SetupError, match="no/such-model"), live(sketch, flags=flags):
        pass


@pytest.mark.parametrize("name", ["qwen35-text", "minicpm5"])
def test_prompts_on_disk_hold_what_a_drafter_read_too_and_serve_no_other(
    live, official, chat, tiny_checkpoints, tmp_path, name
):
    """Qwen 3.5 by its head, MiniCPM5 by itself."""
    folder = tiny_checkpoints / name
    drafting = {"speculate": "head"} if name == "qwen35-text" else {"draft_model": str(folder)}
    asked = {"messages": [{"role": "user", "content": TEXTS[0]}], "max_tokens": LENGTH, "stream": False}
    said, cached = [], []
    for how in (drafting, drafting, {}):
        flags = {"engine": {"prompt_cache_dir": str(tmp_path / "kept"), **how}}
        with live(folder, flags=flags) as served:
            answer = chat(official(served.url), **asked)
        said.append(told([answer]))
        cached.append(answer.usage.prompt_tokens_details.cached_tokens)
    assert said[0] == said[1] == said[2]
    assert cached[1] > 0
    assert cached[0] == cached[2] == 0
