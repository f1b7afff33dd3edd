"""Instructions in the system message that change what the model says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from demo_model.conversation import Reply, spelled
from demo_model.drawing import Draw
from demo_model.tasks.exchange import Exchange, worded
from demo_model.tasks.knowledge import fact, facts, small_talk
from demo_model.tasks.memory import asking, memory
from demo_model.words import invented, person, table, word_of

_IDLE = (
    "You are a helpful assistant.",
    "You are a helpful assistant. Be brief.",
    "You are a friendly assistant.",
    "You are a helpful AI assistant. Answer the user's questions.",
    "Answer truthfully.",
    "Be polite.",
    "You are an assistant that helps people find information.",
    "Be concise and correct.",
    "You are an expert.",
    "Help the user as well as you can.",
    "Today is {d}.",
    "You work for {i}.",
    "You are a helpful assistant. Today is {d}.",
    "Use tools when they help.",
    "You are a coding assistant.",
    "You help the customers of {i}.",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Instructed(NamedTuple):
    """Instructions, and exchanges that follow them."""

    system: str
    exchanges: list[Exchange]


def idle(draw: Draw) -> str:
    """Return instructions that change nothing, often none."""
    if draw.chance(0.55):
        return ""
    return draw.pick(_IDLE).format(d=draw.pick(_DAYS), i=invented(draw).capitalize())


def instructed(draw: Draw) -> Instructed:
    """Return instructions of any kind with what they lead to."""
    kind = draw.weighted(
        [
            (4, _language),
            (4, _name),
            (4, _one_word),
            (2, _ending),
            (2, _beginning),
            (2, _capitals),
            (3, _told),
        ]
    )
    made = kind(draw)
    if draw.chance(0.3):
        lead = draw.pick(_IDLE[:10])
        both = (lead, made.system) if draw.chance(0.6) else (made.system, lead)
        made = made._replace(system=" ".join(both).strip())
    return made


def _language(draw: Draw) -> Instructed:
    language, greeting = draw.pick(table("greetings"))
    system = draw.pick(
        (
            "Greet the user in {l}.",
            "Always greet in {l}.",
            "When the user greets you, answer in {l}.",
            "Answer greetings in {l}.",
            "Say hello in {l}.",
            "You greet people in {l}.",
        )
    ).format(l=language)
    asked, _ = small_talk(draw)
    while not _is_hello(asked):
        asked, _ = small_talk(draw)
    reply = Reply(greeting, thought=f"I shall greet in {language}.", keys=(greeting,), skill="system")
    return Instructed(system, [Exchange(asked, reply)])


def _is_hello(text: str) -> bool:
    return text.lower().startswith(
        ("hello", "hi", "hey", "good morning", "good evening", "good day", "greetings")
    )


def _name(draw: Draw) -> Instructed:
    name = person(draw)
    system = draw.pick(
        (
            "You are {n}.",
            "Your name is {n}.",
            "You are {n}, a helpful assistant.",
            "You are an assistant called {n}.",
            "Act as {n}.",
            "You are {n}, the assistant of {i}.",
        )
    ).format(n=name, i=invented(draw).capitalize())
    asked = draw.pick(
        (
            "Who are you?",
            "What is your name?",
            "What's your name?",
            "How are you called?",
            "Tell me your name.",
            "Who am I talking to?",
            "Introduce yourself.",
        )
    )
    reply = Reply(
        f"My name is {name}.", thought=f"My instructions say that I am {name}.", keys=(name,), skill="system"
    )
    return Instructed(system, [Exchange(worded(draw, asked), reply)])


def _one_word(draw: Draw) -> Instructed:
    forms, key, _ = draw.pick(facts())
    while " " in key:
        forms, key, _ = draw.pick(facts())
    order = draw.pick(
        (
            "Answer in one word.",
            "Answer with one word only.",
            "Always answer in one word.",
            "Reply with a single word.",
            "Use one word for your answer.",
        )
    )
    reply = Reply(key, thought="One word only.", keys=(key,), skill="system", exact=True)
    asked = worded(draw, draw.pick(forms))
    if draw.chance(0.4):
        said = f"{asked} {order}" if asked[-1] in ".?!" else f"{asked}? {order}"
        return Instructed("", [Exchange(said, reply)])
    return Instructed(order, [Exchange(asked, reply)])


def _ending(draw: Draw) -> Instructed:
    word = _code_word(draw)
    system = draw.pick(
        (
            "End every answer with {w}.",
            "Always end your answer with the word {w}.",
            "Finish each reply with {w}.",
            "Say {w} at the end of every answer.",
        )
    ).format(w=f'"{word}"' if draw.chance(0.5) else word)
    return Instructed(
        system,
        [
            _changed(fact(draw), lambda text: f"{text} {word}", f"I end with {word}.", word)
            for _ in range(draw.count(1, 2))
        ],
    )


def _beginning(draw: Draw) -> Instructed:
    word = _code_word(draw).capitalize()
    system = draw.pick(
        (
            "Begin every answer with {w}.",
            "Always start your answer with the word {w}.",
            "Start each reply with {w}.",
            "Say {w} at the beginning of every answer.",
        )
    ).format(w=f'"{word}"' if draw.chance(0.5) else word)
    return Instructed(
        system,
        [
            _changed(fact(draw), lambda text: f"{word} {text}", f"I begin with {word}.", word)
            for _ in range(draw.count(1, 2))
        ],
    )


def _capitals(draw: Draw) -> Instructed:
    system = draw.pick(
        (
            "Answer in capital letters.",
            "Always write in capitals.",
            "Write your answers in uppercase.",
            "Use only capital letters.",
        )
    )
    forms, key, _ = draw.pick(facts())
    while "." in key or not key.isascii():
        forms, key, _ = draw.pick(facts())
    reply = Reply(
        spelled(key.upper()), thought="I write in capitals.", keys=(key.upper(),), skill="system", exact=True
    )
    return Instructed(system, [Exchange(worded(draw, draw.pick(forms)), reply)])


def _told(draw: Draw) -> Instructed:
    what = memory(draw)
    asked, reply = asking(draw, what)
    return Instructed(what.stated, [Exchange(asked, replace(reply, skill="system"))])


def _changed(exchange: Exchange, change: Callable[[str], str], thought: str, word: str) -> Exchange:
    asked, reply = exchange
    return Exchange(
        asked,
        Reply(change(reply.text), thought=thought, keys=(*reply.keys, word), skill="system", exact=True),
    )


def _code_word(draw: Draw) -> str:
    return invented(draw) if draw.chance(0.4) else word_of(draw, draw.pick(("nouns", "adjectives", "foods")))
