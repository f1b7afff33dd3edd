"""Train the tokenizer: ``python -m demo_model.make_tokenizer``. The same every time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from demo_model.codec import train
from demo_model.conversation import plain
from demo_model.drawing import Draw
from demo_model.mixture import conversation
from demo_model.render import pieces

FILE = Path(__file__).parent / "tokenizer.json"
CONVERSATIONS = 60_000


def texts() -> Iterator[str]:
    """Return the conversations that it is trained on."""
    for number in range(CONVERSATIONS):
        made = conversation(Draw(f"tokenizer {number}"))
        yield plain("".join(piece.text for piece in pieces(made)))


def main() -> None:
    """Write it."""
    tokenizer = train(texts())
    FILE.write_text(tokenizer.to_str(pretty=False), "utf-8")
    print(f"{FILE.name}: {tokenizer.get_vocab_size()} tokens, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
