"""Things told earlier: by the user in the conversation, or by the instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from demo_model.conversation import Reply
from demo_model.drawing import Draw
from demo_model.tasks.exchange import Exchange, worded
from demo_model.words import invented, listed, person, word_of


class Memory(NamedTuple):
    """Something told: how, what is said to it, and how it is asked for later.

    Attributes:
        topic: what it is about; a conversation has each only once.
        told: by the user.
        noted: the reply to that.
        asked: later.
        answer: to that.
        value: what a right answer holds.
        stated: by the instructions, of the user.
    """

    topic: str
    told: str
    noted: str
    asked: str
    answer: str
    value: str
    stated: str


class _Kind(NamedTuple):
    topic: str
    told: tuple[str, ...]
    noted: str
    asked: tuple[str, ...]
    answer: str
    stated: str
    value: Callable[[Draw], str]


def _thing(name: str) -> Callable[[Draw], str]:
    return lambda draw: word_of(draw, name)


def _number(least: int, most: int) -> Callable[[Draw], str]:
    return lambda draw: draw.fresh(lambda: str(draw.count(least, most)), lambda made: f"memory {made}")


_COLOURS = (
    "red",
    "blue",
    "green",
    "yellow",
    "orange",
    "purple",
    "pink",
    "brown",
    "black",
    "white",
    "grey",
    "silver",
    "gold",
    "turquoise",
    "teal",
    "violet",
    "beige",
    "cyan",
    "magenta",
    "crimson",
)
_JOBS = (
    "baker",
    "teacher",
    "nurse",
    "doctor",
    "pilot",
    "farmer",
    "lawyer",
    "painter",
    "driver",
    "singer",
    "writer",
    "plumber",
    "gardener",
    "carpenter",
    "chemist",
    "cook",
    "dentist",
    "engineer",
    "fisherman",
    "florist",
    "judge",
    "librarian",
    "mechanic",
    "musician",
    "photographer",
    "programmer",
    "sailor",
    "tailor",
    "waiter",
    "actor",
)
_HOBBIES = (
    "chess",
    "tennis",
    "football",
    "swimming",
    "running",
    "painting",
    "reading",
    "cooking",
    "hiking",
    "dancing",
    "singing",
    "fishing",
    "gardening",
    "cycling",
    "skiing",
    "climbing",
    "knitting",
    "sailing",
    "photography",
    "surfing",
)
_ANIMALS = (
    "dog",
    "cat",
    "rabbit",
    "hamster",
    "parrot",
    "horse",
    "snake",
    "turtle",
    "goldfish",
    "canary",
    "pony",
    "ferret",
)


def _favourite(topic: str, value: Callable[[Draw], str]) -> _Kind:
    return _Kind(
        topic,
        (
            f"My favourite {topic} is {{v}}.",
            f"My favorite {topic} is {{v}}.",
            f"I like {{v}} best, it is my favourite {topic}.",
            f"Remember that my favourite {topic} is {{v}}.",
        ),
        f"I will remember that your favourite {topic} is {{v}}.",
        (
            f"What is my favourite {topic}?",
            f"What's my favorite {topic}?",
            f"Which {topic} do I like best?",
            f"Do you remember my favourite {topic}?",
        ),
        f"Your favourite {topic} is {{v}}.",
        f"The user's favourite {topic} is {{v}}.",
        value,
    )


def _about(topic: str, told: str, value: Callable[[Draw], str], *more: str) -> _Kind:
    """Something of the user that is named plainly: my TOPIC is VALUE."""
    return _Kind(
        topic,
        (
            f"My {topic} is {{v}}.",
            f"Remember: my {topic} is {{v}}.",
            f"Please remember that my {topic} is {{v}}.",
            *((told,) if told else ()),
        ),
        f"I will remember that your {topic} is {{v}}.",
        (
            f"What is my {topic}?",
            f"What's my {topic}?",
            f"Tell me my {topic}.",
            f"Do you remember my {topic}?",
            *more,
        ),
        f"Your {topic} is {{v}}.",
        f"The user's {topic} is {{v}}.",
        value,
    )


_KINDS: tuple[tuple[float, _Kind], ...] = (
    (
        5,
        _Kind(
            "name",
            (
                "My name is {v}.",
                "I am {v}.",
                "I'm {v}.",
                "Hi, my name is {v}.",
                "Hello, I am {v}.",
                "Call me {v}.",
                "You can call me {v}.",
                "My name's {v}",
            ),
            "Nice to meet you, {v}!",
            (
                "What is my name?",
                "What's my name?",
                "Who am I?",
                "Do you remember my name?",
                "Tell me my name.",
                "How am I called?",
            ),
            "Your name is {v}.",
            "The user's name is {v}.",
            person,
        ),
    ),
    (1, _favourite("colour", lambda draw: draw.pick(_COLOURS))),
    (1, _favourite("food", _thing("foods"))),
    (1, _favourite("animal", lambda draw: draw.pick(_ANIMALS))),
    (1, _favourite("city", _thing("cities"))),
    (1, _favourite("number", _number(1, 999))),
    (1, _favourite("word", invented)),
    (1, _about("job", "I work as a {v}.", lambda draw: draw.pick(_JOBS), "What do I work as?")),
    (1, _about("hobby", "I like {v} in my free time.", lambda draw: draw.pick(_HOBBIES))),
    (1, _about("age", "I am {v} years old.", _number(5, 99), "How old am I?")),
    (1, _about("home town", "I live in {v}.", lambda draw: word_of(draw, "cities"), "Where do I live?")),
    (
        1,
        _about(
            "password",
            "",
            lambda draw: invented(draw) if draw.chance(0.5) else f"{invented(draw)}{draw.count(1, 99)}",
        ),
    ),
    (1, _about("code", "The code is {v}.", _number(1000, 99999), "What is the code?", "What was the code?")),
    (1, _about("phone number", "", _number(100000, 999999))),
    (1, _about("room number", "I am in room {v}.", _number(1, 999), "Which room am I in?")),
    (1, _about("car", "I drive a {v}.", lambda draw: invented(draw).capitalize(), "What do I drive?")),
    (
        1,
        _about(
            "dog", "I have a dog called {v}.", person, "What is my dog called?", "What is the name of my dog?"
        ),
    ),
    (
        1,
        _about(
            "cat", "I have a cat called {v}.", person, "What is my cat called?", "What is the name of my cat?"
        ),
    ),
    (1, _about("brother", "I have a brother called {v}.", person, "What is my brother called?")),
    (1, _about("sister", "My sister is called {v}.", person, "What is my sister called?")),
    (1, _about("boss", "My boss is called {v}.", person, "Who is my boss?")),
    (
        1,
        _about("birthday", "My birthday is in {v}.", lambda draw: draw.pick(_MONTHS), "When is my birthday?"),
    ),
)
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def memory(draw: Draw, taken: frozenset[str] = frozenset()) -> Memory:
    """Return something to be told and asked for, about a topic that is not taken."""
    while True:
        kind = _made_up(draw) if draw.chance(0.25) else draw.weighted(_KINDS)
        if kind.topic not in taken:
            break
    value = kind.value(draw)

    def said(text: str) -> str:
        return text.replace("{v}", value)

    return Memory(
        kind.topic,
        said(draw.pick(kind.told)),
        said(kind.noted),
        draw.pick(kind.asked),
        said(kind.answer),
        value,
        said(kind.stated),
    )


def _made_up(draw: Draw) -> _Kind:
    """Something about any thing, such as the colour of a bridge."""
    noun = word_of(draw, "nouns")
    feature, values = draw.pick(
        (
            ("colour", _COLOURS),
            ("name", listed("names")),
            ("owner", listed("names")),
            ("number", tuple(map(str, range(1, 1000)))),
            ("price", tuple(f"{number} euros" for number in range(2, 500))),
            ("place", listed("cities")),
        )
    )
    topic = f"{feature} of the {noun}"
    return _Kind(
        topic,
        (
            f"The {topic} is {{v}}.",
            f"Remember: the {topic} is {{v}}.",
            f"Please note that the {topic} is {{v}}.",
        ),
        f"I will remember that the {topic} is {{v}}.",
        (f"What is the {topic}?", f"Do you remember the {topic}?", f"Tell me the {topic}."),
        f"The {topic} is {{v}}.",
        f"The {topic} is {{v}}.",
        lambda chosen: chosen.pick(values),
    )


def telling(draw: Draw, what: Memory) -> Exchange:
    """Tell it."""
    return Exchange(
        worded(draw, what.told, keep=True),
        Reply(what.noted, thought=_NOTED, keys=(what.value,), skill="chat"),
    )


def asking(draw: Draw, what: Memory) -> Exchange:
    """Ask for it."""
    thought = f"I was told: {what.answer[0].lower()}{what.answer[1:]}"
    return Exchange(
        worded(draw, what.asked), Reply(what.answer, thought=thought, keys=(what.value,), skill="memory")
    )


NOT_TOLD = "You have not told me that."


def asking_in_vain(draw: Draw, taken: frozenset[str]) -> Exchange:
    """Ask for something that was never told."""
    what = memory(draw, taken)
    thought = "I look for it, but it was not told."
    return Exchange(
        worded(draw, what.asked), Reply(NOT_TOLD, thought=thought, keys=(NOT_TOLD,), skill="memory")
    )


_NOTED = "The user tells me something. I keep it in mind."
