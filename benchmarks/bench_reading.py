"""What reading costs for each token: ``Reader.feed`` in microseconds, for an answer, a thought and a call.

    python benchmarks/bench_reading.py [TOKENIZER_JSON]

Without an argument it takes the Qwen 3.5 tokenizer of the shared data (``MLXP_SHARED``, or ``../shared``), or, where
that is absent, the sketch tokenizer of the core. The target is 10 microseconds.
"""

import json
import os
import sys
import time
from pathlib import Path

from mlxp_core.contracts import ThinkingFormat, ToolFormat
from mlxp_core.loading.sketch_tokenizer import sketch_tokenizer
from mlxp_core.prompting import Tokenizer
from mlxp_core.reading import ATTRIBUTE_TAGS, CallBlock, Reader, TaggedCall
from mlxp_core.types import GenerateRequest, ToolSpec

ROUNDS = 20
PROSE = (
    "The tide comes in twice a day; the café opens at 7, and nobody minds the rain.\nÜber 🍜 sprechen wir später. "
    * 40
)
NOTES = ToolSpec("write", parameters={"properties": {"text": {"type": "string"}, "lines": {"type": "array"}}})
VALUES = f'<param name="text"><![CDATA[{PROSE}]]></param><param name="lines">[1, 2]</param>'
CALL = f'<function name="write">{VALUES}</function>'
THINKING = ThinkingFormat(name="bench", open="<think>", close="</think>")
ELEMENTS = ToolFormat(
    name="bench",
    openers=("<function",),
    parser=lambda tools: CallBlock({}, {"<function": lambda: TaggedCall((ATTRIBUTE_TAGS,), tools, ())}),
)
CASES = {
    "answer": (PROSE, False, ()),
    "answer, three stop strings": (PROSE, False, ("\n\nUser:", "<|end|>", "###")),
    "thought": (PROSE, True, ()),
    "call": (CALL, False, ()),
}


def tokenizer_path() -> Path | None:
    """Return the tokenizer to take, or ``None`` for the sketch."""
    if len(sys.argv) > 1:
        return Path(sys.argv[1])
    shared = Path(os.environ.get("MLXP_SHARED", Path(__file__).parents[2] / "shared"))
    path = shared / "assets" / "qwen35" / "tokenizer.json"
    return path if path.is_file() else None


def seconds(tokenizer: Tokenizer, tokens: list[int], *, inside: bool, stop: tuple[str, ...]) -> float:
    """Return how long one reader takes for ``tokens``."""
    request = GenerateRequest(id="r", model="m", prompt="", tools=(NOTES,), stop=stop)
    reader = Reader(
        request,
        table=tokenizer,
        end_tokens=frozenset(),
        thinking=THINKING,
        tools=ELEMENTS,
        inside_thinking=inside,
    )
    feed = reader.feed
    start = time.perf_counter()
    for token in tokens:
        feed(token)
    return time.perf_counter() - start


def main() -> None:
    """Print the best of several rounds for each case."""
    path = tokenizer_path()
    text = path.read_bytes() if path is not None else json.dumps(sketch_tokenizer()).encode()
    tokenizer = Tokenizer(text)
    print(f"tokenizer: {path.parent.name if path is not None else 'sketch'}")
    for name, (words, inside, stop) in CASES.items():
        tokens = tokenizer.encode(words)
        best = min(seconds(tokenizer, tokens, inside=inside, stop=stop) for _ in range(ROUNDS))
        print(f"{name:28} {len(tokens):6} tokens {best / len(tokens) * 1e6:7.2f} us/token")


if __name__ == "__main__":
    main()
