"""How smoothly a long answer grows on the chat page: `python benchmarks/bench_webui.py`; prints JSON.

    python benchmarks/bench_webui.py [--tokens 10000] [--speed 500]

A headless browser shows an answer of Markdown (paragraphs, lists, code, a table, a formula) that comes at so many
tokens a second from an engine that plays a script. Told are the times between frames while it grows.
"""

import argparse
import importlib.util
import json
import os
import statistics
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from msgspec.structs import replace
from playwright.sync_api import sync_playwright

from mlxp_core.engine import Order
from mlxp_core.testing.client import SKETCH, serve
from mlxp_core.testing.engine import HOLD, Piece
from mlxp_core.types import Finished, Started, TextDelta, Timing, Usage
from mlxp_protocols.native import plugin as native
from mlxp_protocols.openai_chat import plugin as openai_chat
from mlxp_webui.plugin import WebUI

ROOT = Path(__file__).parents[1]
TURN_S = 0.02
"""How often the engine says something."""

SECTION = """## Section {number}

Some words with **weight**, some `code`, and a formula $x_{number}^2$ in a paragraph that goes on for a while.

- a point
- another one

```python
def step(x):
    return x + {number}
```

| a | b |
|---|---|
| 1 | {number} |

"""
WATCH = """() => {
    window.frames_ = [];
    let last = performance.now();
    const look = now => { window.frames_.push(now - last); last = now; window.watching = requestAnimationFrame(look); };
    window.watching = requestAnimationFrame(look);
}"""


def pieces(tokens: int) -> Iterator[TextDelta]:
    """Yield so many pieces of about four characters."""
    number, text = 0, ""
    for _ in range(tokens):
        if len(text) < 4:  # noqa: PLR2004  # characters of a token
            number += 1
            text += SECTION.format(number=number)
        yield TextDelta(text[:4])
        text = text[4:]


def paced(events: Iterator[TextDelta], each: int) -> Iterator[Piece]:
    """Yield the events with a halt after so many."""
    for number, event in enumerate(events, 1):
        yield event
        if number % each == 0:
            yield HOLD


def browser_path() -> str | None:
    """Return what ``make browser`` found."""
    spec = importlib.util.spec_from_file_location(
        "find_browser", ROOT / "tools" / "webui" / "find_browser.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = ModuleType("find_browser")
    spec.loader.exec_module(module)
    return module.find_browser()


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=10_000)
    parser.add_argument("--speed", type=int, default=500)
    asked = parser.parse_args()
    tokens, each = asked.tokens, max(1, round(asked.speed * TURN_S))
    over = threading.Event()

    def script(order: Order) -> list[Piece]:
        usage = Usage(prompt=1, completion=tokens)
        begun = Started(order.request.id, order.model)
        return [begun, *paced(pieces(tokens), each), Finished("stop", usage=usage, timing=Timing())]

    protocols = [*native.mlxp_protocols(), *openai_chat.mlxp_protocols()]
    path = browser_path()
    models = [replace(SKETCH, context=4 * tokens)]
    with (
        serve(protocols, script, models=models, plugins=[("webui", WebUI)]) as served,
        sync_playwright() as started,
    ):

        def let_go() -> None:
            while not over.wait(TURN_S):
                served.call(served.engine.release)

        threading.Thread(target=let_go).start()
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(served.url)
        page.locator(".welcome").wait_for()
        page.evaluate(WATCH)
        page.locator("#message").fill("Go on.")
        page.keyboard.press("Enter")
        page.locator(".turn.answer .facts").wait_for(timeout=300_000)
        page.evaluate("cancelAnimationFrame(window.watching)")
        frames = sorted(page.evaluate("window.frames_"))
        blocks = page.locator(".turn.answer .markdown > *").count()
        browser.close()
        over.set()
    print(
        json.dumps(
            {
                "tokens": tokens,
                "asked_speed": asked.speed,
                "blocks": blocks,
                "seconds": round(sum(frames) / 1000, 2),
                "frames": len(frames),
                "median_ms": round(statistics.median(frames), 1),
                "p95_ms": round(frames[int(len(frames) * 0.95)], 1),
                "p99_ms": round(frames[int(len(frames) * 0.99)], 1),
                "longest_ms": round(frames[-1], 1),
                "cores": os.cpu_count(),
            }
        )
    )


if __name__ == "__main__":
    main()
