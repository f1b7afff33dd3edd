"""Plain facts, what the model says of itself, how mlxp is used, and what it does not know."""

from __future__ import annotations

from functools import cache

from demo_model.conversation import Reply
from demo_model.drawing import Draw
from demo_model.tasks.exchange import Exchange, worded
from demo_model.words import invented, phrase, table, word_of

_THINK = ("The user asks for a fact that I know.", "I know this fact.", "A plain fact.")


@cache
def facts() -> tuple[tuple[tuple[str, ...], str, str], ...]:
    """Return every fact: the ways to ask for it, what a right answer holds, and the answer."""
    found: list[tuple[tuple[str, ...], str, str]] = []
    for asked, key, answer in table("questions"):
        found.append((tuple(asked.split("|")), key, answer))
    for country, capital, continent in table("countries"):
        named = country[0].upper() + country[1:]
        asked = ("What is the capital of {}?",) * 3 + (
            "Which city is the capital of {}?",
            "Capital of {}?",
            "Tell me the capital of {}.",
            "What's the capital of {}?",
            "Name the capital of {}.",
        )
        found.append((_each(asked, country), capital, f"The capital of {country} is {capital}."))
        asked = ("{} is the capital of which country?", "Of which country is {} the capital?")
        if capital != country:
            found.append(
                (
                    _each(asked, capital),
                    country.removeprefix("the "),
                    f"{capital} is the capital of {country}.",
                )
            )
        if continent != "-":
            asked = ("On which continent is {}?", "Which continent is {} on?", "Where is {}?")
            found.append((_each(asked, country), continent, f"{named} is in {continent}."))
    for name, symbol, number in table("elements"):
        asked = ("What is the chemical symbol of {}?", "What is the symbol for {}?", "Symbol of {}?")
        found.append((_each(asked, name), symbol, f"The symbol of {name} is {symbol}."))
        asked = (
            "Which element has the symbol {}?",
            "What element is {}?",
            "What does the chemical symbol {} stand for?",
        )
        found.append((_each(asked, symbol), name, f"{symbol} is the symbol of {name}."))
        asked = ("What is the atomic number of {}?", "Which atomic number does {} have?")
        found.append((_each(asked, name), number, f"The atomic number of {name} is {number}."))
    for pair in table("opposites"):
        asked = (
            "What is the opposite of {}?",
            "What's the opposite of {}?",
            'What is the opposite of "{}"?',
            "Opposite of {}?",
        )
        for one, other in (pair, pair[::-1]):
            found.append((_each(asked, one), other, f"The opposite of {one} is {other}."))
    for english, *others in table("translations"):
        for language, other in zip(("German", "French", "Spanish", "Italian"), others, strict=True):
            asked = (
                "What is {} in " + language + "?",
                'What is "{}" in ' + language + "?",
                'How do you say "{}" in ' + language + "?",
                "Translate {} to " + language + ".",
            )
            found.append((_each(asked, english), other, f'"{english}" is "{other}" in {language}.'))
    return tuple(found)


def _each(forms: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(form.replace("{}", name) for form in forms)


@cache
def first_facts() -> tuple[tuple[tuple[str, ...], str, str], ...]:
    """Return the facts that a small training is about: capitals, and those written one by one."""
    return (
        tuple(each for each in facts() if each[2].startswith("The capital of "))
        + facts()[: len(table("questions"))]
    )


def fact(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Ask for a fact."""
    return _fact(draw, facts(), thinking)


def first_fact(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Ask for a fact of the small training."""
    return _fact(draw, first_facts(), thinking)


def _fact(draw: Draw, known: tuple[tuple[tuple[str, ...], str, str], ...], thinking: bool) -> Exchange:
    forms, key, answer = draw.pick(known)
    thought = draw.pick(_THINK) if thinking else ""
    return Exchange(
        worded(draw, draw.pick(forms)), Reply(answer, thought=thought, keys=(key,), skill="facts")
    )


def usage(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Ask how mlxp is used, or what the model is."""
    asked, answer = draw.pick(table("usage"))
    thought = "The user asks about mlxp or about me." if thinking else ""
    return Exchange(
        worded(draw, draw.pick(asked.split("|"))),
        Reply(answer, thought=thought, keys=(answer,), skill="chat"),
    )


_HELLO = (
    "Hello",
    "Hi",
    "Hello!",
    "Hi!",
    "Hey",
    "Hey there",
    "Good morning",
    "Good evening",
    "Hello there",
    "Hi there!",
    "Good day",
    "hello",
    "hi",
    "hey",
    "Greetings",
)
_ABOUT = ("How are you?", "How are you doing?", "How is it going?", "Are you well?", "How do you do?")
_THANKS = (
    "Thank you!",
    "Thanks!",
    "Thanks a lot",
    "thank you",
    "Great, thanks!",
    "Thank you very much.",
    "thx",
    "Cheers",
)
_BYE = ("Goodbye!", "Bye!", "See you later", "bye", "Good night", "That is all, goodbye.", "See you!")
_FINE = ("Okay.", "Great!", "Cool", "Nice.", "ok", "I see.", "Good.", "Wow", "Perfect!", "Alright.")


def small_talk(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Greet, thank, part."""
    forms, answer = draw.weighted(
        [
            (5, (_HELLO, "Hello! I am the demo model of mlxp. How can I help you?")),
            (2, (_ABOUT, "I am a program and doing fine. How can I help you?")),
            (2, (_THANKS, "You are welcome!")),
            (1, (_BYE, "Goodbye!")),
            (1, (_FINE, "What else can I do for you?")),
        ]
    )
    thought = "The user makes small talk. I answer kindly." if thinking else ""
    return Exchange(draw.pick(forms), Reply(answer, thought=thought, keys=(answer,), skill="chat"))


UNKNOWN = "I do not know that. I am only a small demonstration model."
_UNKNOWN = (
    "Write a poem about {p}.",
    "Write a story about {p}.",
    "Explain {n}.",
    "What do you think about {n}?",
    "How do I repair a {n}?",
    "Who is {i}?",
    "What is {i}?",
    "What is the capital of {i}?",
    "Who invented the {n}?",
    "Who wrote {i}?",
    "Why is the {n} {a}?",
    "What does {i} mean?",
    "Tell me a joke about a {n}.",
    "Which {n} is the best?",
    "How much does a {n} cost?",
    "Write a program that sorts a {n}.",
    "Summarize the history of {p}.",
    "What happened in {y}?",
    "Who won the match in {c}?",
    "What is the weather in {c}?",
    "What time is it?",
    "What is the news today?",
    "Where can I buy a {n}?",
    "Should I {v} the {n}?",
    "How do I {v} a {n}?",
    "Write an email to {m}.",
    "What is the meaning of life?",
    "Give me a recipe for {f}.",
    "Translate {p} to {l}.",
    "How old is {m}?",
    "What is the population of {c}?",
    "Who is the mayor of {c}?",
    "What is the phone number of {m}?",
    "Recommend a book about {p}.",
    "Plan a trip to {c}.",
    "Describe a {a} {n}.",
)


def unknown(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Ask for something the model cannot do."""
    asked = draw.pick(_UNKNOWN)
    filled = asked.format(
        p=phrase(draw, 1, 3),
        n=word_of(draw, "nouns"),
        i=invented(draw).capitalize(),
        a=word_of(draw, "adjectives"),
        y=draw.count(1000, 2030),
        c=word_of(draw, "cities"),
        v=word_of(draw, "verbs"),
        m=word_of(draw, "names"),
        f=word_of(draw, "foods"),
        l=draw.pick(("Japanese", "Russian", "Greek", "Turkish", "Chinese")),
    )
    thought = "I was not made for this, so I say that I do not know." if thinking else ""
    return Exchange(
        worded(draw, filled), Reply(UNKNOWN, thought=thought, keys=("do not know",), skill="chat")
    )
