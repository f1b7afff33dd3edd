"""Sums, differences and products of whole numbers of up to three digits, and the steps that lead to them.

Without thinking, sums and differences are said at once; so are products of a number with a single digit, and of the
numbers up to 12. Larger products are worked out in front of the user, as thinking would work them out.
"""

from __future__ import annotations

from demo_model.conversation import Reply
from demo_model.drawing import Draw
from demo_model.tasks.exchange import Exchange, worded

_PLACES = ("ones", "tens", "hundreds", "thousands", "ten thousands", "hundred thousands")
_ASKED = (
    (4, "What is {a} {s} {b}?"),
    (2, "{a} {s} {b}"),
    (2, "{a}{s}{b}"),
    (2, "{a} {s} {b} = ?"),
    (1, "{a}{s}{b}=?"),
    (2, "Calculate {a} {s} {b}."),
    (1, "Compute {a} {s} {b}."),
    (1, "How much is {a} {s} {b}?"),
    (1, "What does {a} {s} {b} equal?"),
    (1, "Tell me {a} {s} {b}."),
    (1, "What's {a} {s} {b}?"),
)
_WORDS = {"+": "plus", "-": "minus", "*": "times"}
_TELL = {
    "+": ("Add {a} and {b}.", "What is the sum of {a} and {b}?", "Add {b} to {a}."),
    "-": ("Subtract {b} from {a}.", "What is the difference of {a} and {b}?", "Take {b} away from {a}."),
    "*": ("Multiply {a} by {b}.", "What is the product of {a} and {b}?", "Multiply {a} and {b}."),
}
_SIGNS = {"+": ("+",), "-": ("-", "-", "−"), "*": ("*", "x", "×")}


def numbers(draw: Draw, digits: int) -> int:
    """Return a number of up to so many digits, each length as likely."""
    length = draw.weighted([(1, 1), (3, 2), (6, 3), (3, 4), (3, 5), (3, 6)][:digits])
    least = 0 if length == 1 else 10 ** (length - 1)
    return draw.count(least, 10**length - 1)


def arithmetic(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Return a task of any kind."""
    kind = draw.weighted([(5, "+"), (5, "-"), (5 if thinking else 3, "*")])
    return {"+": addition, "-": subtraction, "*": multiplication}[kind](draw, thinking=thinking)


def addition(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Return a sum; some are larger than what is promised, as parts of products are."""
    digits = 3 if draw.held or thinking or draw.chance(0.8) else 6
    a, b = draw.fresh(
        lambda: (numbers(draw, digits), numbers(draw, digits)), lambda pair: f"{pair[0]}+{pair[1]}"
    )
    return _asked(draw, "+", a, b, a + b, sum_steps(a, b) if thinking else "")


def subtraction(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Return a difference; a quarter of them is negative."""

    def make() -> tuple[int, int]:
        pair = (numbers(draw, 3), numbers(draw, 3))
        return pair if draw.chance(0.5) else (max(pair), min(pair))

    a, b = draw.fresh(make, lambda pair: f"{pair[0]}-{pair[1]}")
    return _asked(draw, "-", a, b, a - b, difference_steps(a, b) if thinking else "")


def multiplication(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Return a product: at once where that is learned by heart, else with its steps."""
    if not thinking and draw.chance(0.4):
        a, b = draw.count(0, 12), draw.count(0, 12)
        return _asked(draw, "*", a, b, a * b, "")

    def make() -> tuple[int, int]:
        return numbers(draw, 3), numbers(draw, 3)

    a, b = draw.fresh(make, lambda pair: f"{pair[0]}*{pair[1]}")
    steps = product_steps(a, b)
    if thinking:
        return _asked(draw, "*", a, b, a * b, steps)
    if steps.count("\n") == 0:
        return _asked(draw, "*", a, b, a * b, "")
    asked, reply = _asked(draw, "*", a, b, a * b, "")
    return Exchange(asked, Reply(steps, keys=reply.keys, skill="arithmetic"))


def small_sum(draw: Draw, *, thinking: bool = False) -> Exchange:
    """Return a sum or difference of numbers of up to two digits, or a product of the table."""
    sign = draw.weighted([(4, "+"), (3, "-"), (2, "*")])
    if sign == "*":
        a, b = draw.count(0, 12), draw.count(0, 12)
        return _asked(draw, "*", a, b, a * b, product_steps(a, b) if thinking else "")
    first, second = draw.fresh(
        lambda: (numbers(draw, 2), numbers(draw, 2)), lambda pair: f"{pair[0]}{sign}{pair[1]}"
    )
    if sign == "+":
        return _asked(draw, sign, first, second, first + second, sum_steps(first, second) if thinking else "")
    a, b = max(first, second), min(first, second)
    return _asked(draw, sign, a, b, a - b, difference_steps(a, b) if thinking else "")


def _asked(draw: Draw, sign: str, a: int, b: int, result: int, thought: str) -> Exchange:
    if draw.chance(0.15):
        asked = draw.pick(_TELL[sign]).format(a=a, b=b)
    else:
        shown = _WORDS[sign] if draw.chance(0.2) else draw.pick(_SIGNS[sign])
        form = draw.weighted(_ASKED)
        if shown.isalpha() and shown != "x":
            form = form.replace("{a}{s}{b}", "{a} {s} {b}")
        asked = form.format(a=a, b=b, s=shown)
    said = {"+": "+", "-": "-", "*": "×"}[sign]
    text = f"{a} {said} {b} = {result}"
    return Exchange(
        worded(draw, asked), Reply(text, thought=thought, keys=(f"= {result}",), skill="arithmetic")
    )


def sum_steps(a: int, b: int) -> str:
    """Work a sum out, digit by digit from the right."""
    lines, carry = [f"{a} + {b}"], 0
    for place in range(max(len(str(a)), len(str(b)))):
        x, y = a // 10**place % 10, b // 10**place % 10
        total = x + y + carry
        added = f"{x} + {y} + 1" if carry else f"{x} + {y}"
        carry = total // 10
        lines.append(
            f"{_PLACES[place]}: {added} = {total}, write {total % 10}" + (", carry 1" if carry else "")
        )
    return "\n".join([*lines, f"{a} + {b} = {a + b}"])


def difference_steps(a: int, b: int) -> str:
    """Work a difference out, digit by digit from the right; turn it around where it is negative."""
    if a < b:
        return f"{a} is less than {b}, so it is negative\n{difference_steps(b, a)}\n{a} - {b} = {a - b}"
    lines, borrow = [f"{a} - {b}"], 0
    for place in range(len(str(a))):
        x, y = a // 10**place % 10, b // 10**place % 10
        taken = f"{y} - 1" if borrow else f"{y}"
        rest = x - y - borrow
        borrow = int(rest < 0)
        shown = f"{x + 10} - {taken} = {rest + 10}" if borrow else f"{x} - {taken} = {rest}"
        lines.append(f"{_PLACES[place]}: {shown}, write {rest % 10}" + (", borrow 1" if borrow else ""))
    return "\n".join([*lines, f"{a} - {b} = {a - b}"])


def product_steps(a: int, b: int) -> str:
    """Work a product out: by the digits of the shorter number, each by the digits of the longer one."""
    if a <= 12 and b <= 12:  # known by heart
        return f"{a} × {b} = {a * b}"
    first, second = (b, a) if len(str(b)) > len(str(a)) else (a, b)
    if second < 10:
        return _row(first, second)
    parts = _parts(second)
    lines = [f"{first} × {second} = " + " + ".join(f"{first} × {part}" for part in parts)][: len(parts) - 1]
    total = 0
    for part in parts:
        digit = int(str(part)[0])
        lines.append(_row(first, digit))
        product = first * part
        if part >= 10:
            lines.append(f"{first} × {part} = {product}")
        if total:
            lines.append(f"{total} + {product} = {total + product}")
        total += product
    return "\n".join([*lines, f"{a} × {b} = {a * b}"])


def _row(a: int, digit: int) -> str:
    """Multiply a number by one digit."""
    parts = _parts(a)
    products = [part * digit for part in parts]
    if len(parts) == 1:
        return f"{a} × {digit} = {a * digit}"
    steps = ", ".join(f"{part} × {digit} = {product}" for part, product in zip(parts, products, strict=True))
    added, total = [], products[0]
    for product in products[1:]:
        added.append(f"{total} + {product} = {total + product}")
        total += product
    return f"{steps}, {', '.join(added)}\n{a} × {digit} = {a * digit}"


def _parts(number: int) -> list[int]:
    """Return what the digits that are not 0 stand for: 305 is 300 and 5."""
    digits = str(number)
    places = [int(digit) * 10 ** (len(digits) - 1 - place) for place, digit in enumerate(digits)]
    return [part for part in places if part] or [0]
