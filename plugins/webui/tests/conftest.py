"""A real server whose models say what a script has them say, and the chat page in a real browser."""

import json
from contextlib import contextmanager

import pytest

from mlxp_core.testing.live import serve_folders

FIRST, RICH, THOUGHT, CALL, RESULT, LONG, HOSTILE = range(7)
"""Numbers of scripts; a later one wins where several are picked in one conversation."""

ENDLESS = 50_000
"""Tokens that nobody waits for."""

GREETING = "Hello there, this is the first answer."
THINKING = "Let me think about this for a while."
RESULT_TEXT = "The result is fourteen."
CALCULATION = (
    '<function name="calculator"><param name="expression"><![CDATA[2 * (3 + 4)]]></param></function>'
)
MARKDOWN = """# A heading

Some **bold**, *soft* and `code`, money of $5 and $x^2$.

| a | b |
|---|--:|
| 1 | 2 |

```python
def double(x):
    return 2 * x
```

- one
- two

$$\\int_0^1 x\\,dx = \\tfrac12$$

> quoted
"""
HOSTILE_MARKDOWN = """<script>window.owned = 1</script>

<img src=x onerror="window.owned = 2">

<svg onload="window.owned = 3"><a xlink:href="javascript:window.owned = 4"><text>x</text></a></svg>

[click](javascript:window.owned=5) [click](JaVaScRiPt:window.owned=6) [click](data:text/html,<script>owned=7</script>)

![x](http://192.0.2.1/beacon.png) ![y](x"onerror="window.owned=8)

<iframe srcdoc="<script>parent.owned = 9</script>"></iframe><math><mtext><img src=x onerror=window.owned=10></math>

$\\href{javascript:window.owned=11}{x}$ $$\\includegraphics{http://192.0.2.1/b.png}$$

```html"><img src=x onerror=window.owned=12>
<script>window.owned = 13</script>
```

<details open ontoggle="window.owned = 14"><style>body { display: none }</style></details>

The end of it.
"""


@pytest.fixture(scope="session")
def script_folder(puppets, tmp_path_factory):
    """The folder of a model that follows scripts; messages pick them by a character of their own."""
    scripts = {
        FIRST: [puppets.Words(GREETING)],
        RICH: [puppets.Cut(MARKDOWN, 7)],
        THOUGHT: puppets.Script(
            [puppets.Words("Thought out.")], when_open=[puppets.Cut(f"{THINKING}\n</think>\n\n", 4)]
        ),
        CALL: [puppets.Words("Let me compute. "), puppets.Cut(CALCULATION, 2)],
        RESULT: [puppets.Words(RESULT_TEXT)],
        LONG: puppets.Script([puppets.Words("and on and so forth, ")], loop=True),
        HOSTILE: [puppets.Cut(HOSTILE_MARKDOWN, 5)],
    }
    folder = tmp_path_factory.mktemp("scripted") / "scripted"
    puppets.make("minicpm5", [scripts[number] for number in sorted(scripts)], folder)
    return folder


@pytest.fixture(scope="session")
def pick(puppets):
    """Return the character that selects a script."""
    return puppets.pick_char


@pytest.fixture(scope="session")
def live_pages(tmp_path_factory):
    """Serve model folders with every installed plugin, this one included, and a lab of nobody's."""
    lab = tmp_path_factory.mktemp("lab")

    @contextmanager
    def begin(*folders, **more):
        flags = {
            "engine": {"dtype": "float32", "memory_budget": "8GB"},
            "generation": {"max_tokens": ENDLESS},
            "lab": {"folder": str(lab)},
            **more.pop("flags", {}),
        }
        with serve_folders(*folders, flags=flags, **more) as served:
            yield served

    return begin


@pytest.fixture(scope="session")
def scripted(live_pages, script_folder):
    """A server of the model that follows scripts."""
    with live_pages(script_folder) as served:
        yield served


class ChatPage:
    """What a person does on the chat page."""

    def __init__(self, page):
        self.page = page

    def say(self, text):
        """Write a message and send it with the keyboard."""
        self.page.get_by_label("Message", exact=True).fill(text)
        self.page.keyboard.press("Enter")

    def wait(self, answers=1):
        """Wait until so many answers are complete, and return the last one."""
        done = self.page.locator(".turn.answer[aria-busy=false]")
        done.nth(answers - 1).wait_for()
        self.page.get_by_role("button", name="Stop").wait_for(state="detached")
        return done.nth(answers - 1)

    def ask(self, text, answers=1):
        """Send a message, and return its complete answer."""
        self.say(text)
        return self.wait(answers)

    def open(self, panel):
        """Open the panel of a name, which is not open yet."""
        self.page.locator(".choices").get_by_role("button", name=panel).click()
        return self.page.get_by_role("complementary", name=panel)

    def request(self):
        """Return the body of the last request, as the inspector shows it."""
        panel = self.page.get_by_role("complementary", name="Inspector")
        if not panel.is_visible():
            panel = self.open("Inspector")
        panel.get_by_role("button", name="Request", exact=True).click()
        return json.loads(panel.locator("pre.wire").text_content())


@pytest.fixture
def chat(visit, scripted):
    """The chat page of the scripted server, as a new visitor sees it."""

    def begin(url=scripted.url, **options):
        page = visit(url, **options)
        page.locator(".welcome").wait_for()
        return ChatPage(page)

    return begin
