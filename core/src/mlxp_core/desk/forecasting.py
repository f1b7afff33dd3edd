"""How likely each token is after a prompt: an order that reads the prompt, and tells of the distribution behind it."""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from mlxp_core.desk.faces import FrontendFace, TextTable
from mlxp_core.desk.ticket import Ticket
from mlxp_core.engine import Pool, Survey
from mlxp_core.errors import BadRequest, Unavailable, of_code
from mlxp_core.types import (
    Failed,
    Finished,
    Forecast,
    ForecastRequest,
    GenerateRequest,
    Sampling,
    TokenScore,
)

MOST_BINS = 1000
MOST_LIKELIEST = 100


class Generate(Protocol):
    """Queues a request whose prompt is read for numbers; see ``Desk.generate``."""

    def __call__(self, request: GenerateRequest, *, protocol: str, pool: Pool) -> Awaitable[Ticket]:
        """Return the ticket."""
        ...


async def forecast(
    question: ForecastRequest, generate: Generate, frontend: FrontendFace, *, protocol: str
) -> Forecast:
    """Ask the engine; leaving early cancels the work.

    Raises:
        BadRequest: a number of the question is out of range, or the prompt cannot be prepared.
        Unavailable: the request was cancelled.
        MlxpError: the prompt could not be read.
    """
    _check(question)
    numbers: list[float] = []
    survey = Survey(question.bins, question.lowest, question.likeliest)
    ticket = await generate(_asked(question), protocol=protocol, pool=Pool(survey, numbers.extend))
    tokens = 0
    async for event in ticket.events():
        match event:
            case Failed(code, message):
                raise of_code(code)(message)
            case Finished(reason="cancelled"):
                raise Unavailable("the request was cancelled before its prompt was read")
            case Finished(usage=usage):
                tokens = usage.prompt
    return Forecast(
        model=frontend.info.id,
        tokens=tokens,
        lowest=question.lowest,
        counts=tuple(int(count) for count in numbers[: question.bins]),
        likeliest=_named(numbers[question.bins :], frontend.tokenizer),
    )


def _check(question: ForecastRequest) -> None:
    if not 1 <= question.bins <= MOST_BINS:
        raise BadRequest(f"bins must be from 1 to {MOST_BINS}, not {question.bins}", param="bins")
    if not 0 <= question.likeliest <= MOST_LIKELIEST:
        raise BadRequest(
            f"likeliest must be from 0 to {MOST_LIKELIEST}, not {question.likeliest}", param="likeliest"
        )
    if not question.lowest < 0:
        raise BadRequest(f"lowest must be below 0, not {question.lowest}", param="lowest")


def _asked(question: ForecastRequest) -> GenerateRequest:
    return GenerateRequest(
        id=question.id,
        model=question.model,
        prompt=question.prompt,
        thinking=question.thinking,
        adapters=question.adapters,
        max_tokens=1,
        sampling=Sampling(seed=0),
    )


def _named(numbers: Sequence[float], tokenizer: TextTable) -> tuple[TokenScore, ...]:
    """Return the likeliest tokens from their ids and, behind these, their log-probabilities."""
    ids = [int(number) for number in numbers[: len(numbers) // 2]]
    return tuple(
        TokenScore(token, tokenizer.token_text(token), tokenizer.token_bytes(token), logprob)
        for token, logprob in zip(ids, numbers[len(ids) :], strict=True)
    )
