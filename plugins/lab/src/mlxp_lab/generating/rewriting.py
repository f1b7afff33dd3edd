"""Templates in which a model works on texts: another style, the request behind a text, questions about a passage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from mlxp_lab.generating.asking import Ask, Dropped, said, shaped, words
from mlxp_lab.generating.template import Field, Inputs, Row, Task, Template, bad

_SHORT = 200
"""Tokens of a question or a prompt."""

NOT_SAID = "The passage does not say."

_KEEP = "names, figures, dates, links, quotations, code"
_AVOID = "dashes as pauses, stock transitions, sales talk"


class Questions(Struct, frozen=True):
    """What a model asks about a passage."""

    questions: list[str]


def _style(inputs: Inputs) -> Sequence[Task]:
    system = (
        "You rewrite texts. Keep what they say; change how they say it, so that they could stand among the samples. "
        "Answer with the rewritten text alone.\n\nSamples:\n" + inputs.text("reference_samples")
    )

    def task(text: str) -> Task:
        def make(ask: Ask) -> Iterator[Row | Dropped]:
            rewritten = words(ask, system, text)
            if rewritten == text:
                raise Dropped("the text came back as it was", text)
            yield {"prompt": text, "completion": rewritten}

        return make

    return [task(text) for text in inputs.paragraphs("raw_text")]


def _reconstruction(inputs: Inputs) -> Sequence[Task]:
    manner = "\n".join(
        f"{label}: {inputs.text(name)}"
        for label, name in (("Style", "style"), ("Tone", "tone"), ("Keep", "preserve"), ("Avoid", "avoid"))
        if inputs.text(name)
    )

    def task(text: str) -> Task:
        def make(ask: Ask) -> Iterator[Row | Dropped]:
            prompt = words(
                ask, "You guess what somebody was asked for. Answer with the request alone, in one or two sentences.",
                f"Which request would this text answer?\n\n{text}", tokens=_SHORT,
            )  # fmt: skip
            draft = words(ask, "You write plain drafts. Answer with the draft alone.", prompt)
            asked = f"{manner}\nRequest: {prompt}\n\nDraft:\n{draft}\n\nRewrite the draft."
            messages = [
                said("system", "You rewrite drafts in a given style and keep every fact."),
                said("user", asked),
                said("assistant", text),
            ]
            yield {"messages": messages, "metadata": {"inferred_prompt": prompt, "draft": draft}}

        return make

    return [task(text) for text in inputs.paragraphs("target_text")]


def _passages(inputs: Inputs) -> Sequence[Task]:
    passages = glued(inputs.paragraphs("documents"), inputs.number("min_chunk_chars"))
    count = inputs.number("questions_per_chunk")

    def task(passage: str, place: int) -> Task:
        def make(ask: Ask) -> Iterator[Row | Dropped]:
            asked = shaped(
                ask, 'You ask about passages. Answer in JSON: {"questions": ["...", "..."]}.',
                f"Ask {count} different questions that this passage answers.\n\n{passage}", Questions,
            )  # fmt: skip
            system = f"Answer from this passage alone. If it does not say, answer: {NOT_SAID}\n\nPassage:\n{passage}"
            if not asked.questions:
                raise Dropped("no question was asked", passage)
            for question in asked.questions[:count]:
                try:
                    answer = words(ask, system, question)
                except Dropped as dropped:
                    yield dropped
                    continue
                if NOT_SAID.rstrip(".").lower() in answer.lower():
                    yield Dropped("the passage does not answer the question", question)
                    continue
                messages = [said("system", system), said("user", question), said("assistant", answer)]
                yield {
                    "messages": messages,
                    "metadata": {"passage": place, "passage_characters": len(passage)},
                }

        return make

    return [task(passage, place) for place, passage in enumerate(passages)]


def glued(paragraphs: Sequence[str], least: int) -> list[str]:
    """Return passages of at least so many characters; a shorter rest belongs to the last one.

    Raises:
        BadParameters: there is not enough for one.
    """
    passages: list[str] = []
    held: list[str] = []
    for paragraph in paragraphs:
        held.append(paragraph)
        if sum(map(len, held)) >= least:
            passages.append("\n\n".join(held))
            held = []
    if held and passages:
        passages[-1] = "\n\n".join([passages[-1], *held])
    if not passages:
        raise bad("documents", f"there are less than {least} characters")
    return passages


TEMPLATES = (
    Template(
        name="style_transfer",
        label="A style",
        summary="Paragraphs with how a model writes them in the style of samples.",
        form="completion",
        needs_model=True,
        fields=(
            Field(
                name="reference_samples",
                label="Samples",
                required=True,
                hint="texts in the style that is wanted",
            ),
            Field(
                name="raw_text",
                label="Texts",
                required=True,
                hint="paragraphs to rewrite, a blank line between them",
            ),
        ),
        plan=_style,
    ),
    Template(
        name="prompt_reconstruction",
        label="Drafts into your words",
        summary="Your paragraphs as answers; a model guesses the request behind each and writes a plain draft of it.",
        form="chat",
        needs_model=True,
        fields=(
            Field(
                name="target_text", label="Your texts", required=True, hint="a blank line between paragraphs"
            ),
            Field(name="style", label="Style", type="line", default="direct technical writing"),
            Field(name="tone", label="Tone", type="line", default="analytical, clear"),
            Field(name="preserve", label="What to keep", type="line", default=_KEEP),
            Field(name="avoid", label="What to avoid", type="line", default=_AVOID),
        ),
        plan=_reconstruction,
    ),
    Template(
        name="rag_qa",
        label="Questions about passages",
        summary="A model asks about passages of your documents, and answers from them alone.",
        form="chat",
        needs_model=True,
        fields=(
            Field(name="documents", label="Documents", required=True, hint="a blank line between paragraphs"),
            Field(
                name="questions_per_chunk",
                label="Questions a passage",
                type="number",
                default=2,
                least=1,
                most=100,
            ),
            Field(
                name="min_chunk_chars",
                label="Least characters of a passage",
                type="number",
                default=200,
                least=40,
            ),
        ),
        plan=_passages,
    ),
)
