"""What guessing brings, and what it costs where it brings nothing: the engine's own scheduler and runner, no server.

    python benchmarks/bench_speculation.py [--rows 1 8] [--hidden 1024] [--layers 8] [--tokens 256] [--rounds 5]
        [--traffic copy edit ..] [--drafter LAYERS --right 0.8] [--processor-time]

A random llama computes every pass in float32; what it says is then put into its mouth, token by token, so that the
traffic is what each column wants:

    copy     the answer repeats the prompt
    edit     the same, but every eighth token on average is another one
    one row  one row edits, the others write what nobody can guess
    code     this project's own source, word by word: each row goes on with a file it has begun to read
    pages    its documentation, likewise
    prose    what nobody can guess, and hardly ever seems to repeat itself
    noise    a dozen tokens in random order: three of them have always stood there before, and never mean anything

Each round runs every traffic without and with guesses, one after the other, and the other way round in the next. Shown
are the medians: tokens a second without guesses, how many times as many with them, with the quartiles of that ratio,
and the share of guesses that were right, and of answers that were guessed right. With --processor-time seconds are
those of the processor, for the engine's own measurements too, and the two go by turns, step by step: on a machine with
other work this alone means something.

With --drafter a llama of so many layers guesses in place of looking up, and is right as often as --right says.
"""

import argparse
import os
import random
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mlxp_core.blas import load_fast_blas
from mlxp_core.cli.folders import cache_folder

load_fast_blas(os.environ, cache_folder(os.environ, Path.home()))  # before MLX

import mlx.core as mx  # noqa: E402
from mlx import nn  # noqa: E402
from msgspec.structs import replace  # noqa: E402

from mlxp_core.contracts import Inputs, KVPolicy, LayerCache  # noqa: E402
from mlxp_core.engine.faults import contained  # noqa: E402
from mlxp_core.engine.orders import Order, Submit  # noqa: E402
from mlxp_core.engine.runner import BatchRunner  # noqa: E402
from mlxp_core.engine.scheduler import Scheduler  # noqa: E402
from mlxp_core.engine.shelf import Shelf  # noqa: E402
from mlxp_core.engine.speculation.drafters import ModelDrafter  # noqa: E402
from mlxp_core.errors import MlxpError  # noqa: E402
from mlxp_core.kv import policy_for  # noqa: E402
from mlxp_core.loading.network import Network  # noqa: E402
from mlxp_core.prompting import Prompt  # noqa: E402
from mlxp_core.reading import Reader  # noqa: E402
from mlxp_core.testing.networks import load, random_parameters  # noqa: E402
from mlxp_core.types import EngineSettings, Event, Finished, GenerateRequest, KVScheme, Sampling, Usage  # noqa: E402
from mlxp_minicpm5.config import read  # noqa: E402
from mlxp_minicpm5.text import MiniCPM5  # noqa: E402

VOCABULARY = 16384
OWN = VOCABULARY // 16
PROMPT = 512
LETTERS = 12
GREEDY = Sampling(temperature=0.0, seed=1)
SCRIPTS = ("copy", "edit", "one row", "code", "pages", "prose", "noise")
ROOT = Path(__file__).resolve().parent.parent
TEXTS = {"code": "core/src/mlxp_core/**/*.py", "pages": "docs/**/*.md"}
WORD = re.compile(r"\w+|[^\w\s]| +|\n+")


class Mouth(nn.Module):
    """The network, whose rows say what scripts say; hidden states carry the place, as their last number."""

    def __init__(self, network: MiniCPM5, *, right: float = 1.0) -> None:
        super().__init__()
        self.network = network
        self.wrong_from = int(1000 * right)  # of places, scattered and numbered below 1000
        self.scripts = mx.zeros(
            (1, 1), dtype=mx.int32
        )  # [row of the bench, place] -> the token that comes next

    def __call__(self, inputs: Inputs, caches: Sequence[LayerCache]) -> mx.array:
        """Return hidden states, and behind them place and row of each token."""
        hidden = self.network(inputs, caches)
        places = (inputs.at.offset[:, None] + mx.arange(inputs.at.width))[..., None].astype(hidden.dtype)
        names = (inputs.tokens // OWN)[..., None].astype(hidden.dtype)  # see ``_script``
        return mx.concatenate([hidden, places, names], axis=-1)

    def logits(self, hidden: mx.array) -> mx.array:
        """Score what the script says next far above all else."""
        scores = self.network.logits(hidden[..., :-2])
        place, name = (hidden[..., at].astype(mx.int32) for at in (-2, -1))
        name = mx.minimum(
            name, self.scripts.shape[0] - 1
        )  # trials of the prompt cache read what is in no script
        said = mx.take(self.scripts.reshape(-1), name * self.scripts.shape[1] + place)
        said = said + (place * 7919 % 1000 >= self.wrong_from)
        return scores + 1000.0 * (mx.arange(scores.shape[-1]) == said[..., None])

    def embed(self, tokens: mx.array) -> mx.array:
        """Look tokens up."""
        return self.network.embed(tokens)

    def make_caches(self, policy: KVPolicy) -> list[LayerCache]:
        """Return the network's own."""
        return self.network.make_caches(policy)


def _script(name: str, row: int, length: int, dice: random.Random) -> list[int]:
    """Return prompt and answer of a row; its tokens are its own, a sixteenth of all, to tell whose they are."""
    own = [row * OWN + place for place in range(1, OWN)]
    if name in TEXTS:
        return _read(name, own, length, dice)
    if name == "noise":
        return dice.choices(own[:LETTERS], k=length)
    if name == "prose" or (name == "one row" and row):
        return dice.choices(own, k=length)
    text = dice.choices(own, k=PROMPT)
    answer = (text * (length // PROMPT + 1))[: length - PROMPT]
    if name != "copy":
        answer = [dice.choice(own) if dice.random() < 1 / 8 else token for token in answer]
    return text + answer


def _read(name: str, own: Sequence[int], length: int, dice: random.Random) -> list[int]:
    """Return the words of some file from some place on, the rarest of them taken for one."""
    files = sorted(ROOT.glob(TEXTS[name]))
    words: list[str] = []
    while len(words) < length:
        words += WORD.findall(dice.choice(files).read_text(encoding="utf-8"))
    numbers: dict[str, int] = {}
    return [own[min(numbers.setdefault(word, len(numbers)), len(own) - 1)] for word in words[:length]]


class Numbers:
    """A tokenizer as plain as can be."""

    added_tokens: dict[int, str] = {}  # noqa: RUF012  # empty for good
    special_tokens: dict[int, str] = {}  # noqa: RUF012  # as above

    def token_id(self, text: str) -> int | None:  # noqa: ARG002  # there is none
        """Know no token by name."""
        return None

    def token_bytes(self, token: int) -> bytes:
        """Write a number and a space."""
        return f"{token} ".encode()

    def decode(self, tokens: Sequence[int], *, special: bool = True) -> str:  # noqa: ARG002  # there are none
        """Write numbers."""
        return "".join(f"{token} " for token in tokens)


def orders(
    scripts: Sequence[Sequence[int]], tokens: int, sink: Callable[[list[Event]], object]
) -> Iterator[Order]:
    """Yield an order for each script."""
    for row, script in enumerate(scripts):
        prompt = tuple(script[:PROMPT])
        request = GenerateRequest(id=str(row), prompt=prompt, sampling=GREEDY, model="m", max_tokens=tokens)
        reader = Reader(request, table=Numbers(), end_tokens=frozenset(), choice=0)
        yield Order(request=request, prompt=Prompt(tokens=prompt), reader=reader, model="m", sink=sink)


class House:
    """Scheduler and runner that answer scripts, and the seconds of their own steps."""

    def __init__(
        self,
        way: tuple[Network, dict[str, str]],
        scripts: Sequence[Sequence[int]],
        tokens: int,
        clock: Callable[[], float],
    ) -> None:
        network, how = way
        shelf = Shelf({"m": None}, halted=lambda: False, load=lambda *_: network)  # type: ignore[dict-item]
        settings = EngineSettings(batch=len(scripts), prompt_cache_bytes=0, **how)  # type: ignore[arg-type]
        self._clock, self._began_s, self._rows = clock, None, len(scripts)
        self.spent_s = 0.0
        self._heard: list[Event] = []
        self._runner, self._scheduler = BatchRunner(shelf, {}), Scheduler(["m"], settings, self._now)
        self._scheduler.apply([Submit(tuple(orders(scripts, tokens, self._heard.extend)), 0.0)])
        while self._scheduler.snapshot().running < self._rows:
            self.turn()
        self.spent_s = 0.0

    def _now(self) -> float:
        """Return the seconds of this house, so that those of another one, which has a turn in between, do not count."""
        return self.spent_s + (0.0 if self._began_s is None else self._clock() - self._began_s)

    @property
    def idle(self) -> bool:
        """Say whether all is answered."""
        return self._scheduler.idle

    def turn(self, *, alone: bool = False) -> None:
        """Take a step; ``alone`` = and wait for what it has begun."""
        self._began_s = self._clock()
        step = self._scheduler.next_step()
        deliveries = self._scheduler.settle(step, contained(self._runner.run, step))
        for sink, events in deliveries.events:
            sink(events)
        if alone:
            mx.synchronize()
        self.spent_s, self._began_s = self._now(), None

    @property
    def usage(self) -> Usage:
        """Return what all rows used."""
        usages = [event.usage for event in self._heard if isinstance(event, Finished)]
        if len(usages) != self._rows:
            raise MlxpError(f"{self._rows - len(usages)} rows failed")
        fields = ("completion", "guessed", "accepted")
        return Usage(**{name: sum(getattr(usage, name) for usage in usages) for name in fields})


def run(houses: Sequence[House], *, by_turns: bool) -> None:
    """Have all houses answer, one after the other, or a step each by turns."""
    for house in houses:
        while not by_turns and not house.idle:
            house.turn()
    order = list(houses)
    while any(not house.idle for house in houses):
        order.reverse()  # who comes second finds other things in the caches of the processor
        for house in order:
            if not house.idle:
                house.turn(alone=True)


def made(hidden: int, layers: int, *, right: float = 1.0) -> tuple[Mouth, Network]:
    """Make the network, and what the runner wants to know of it."""
    config = {
        "model_type": "llama",
        "vocab_size": VOCABULARY,
        "hidden_size": hidden,
        "intermediate_size": 3 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": hidden // 64,
        "num_key_value_heads": max(1, hidden // 256),
        "head_dim": 64,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1e6,
        "tie_word_embeddings": False,
    }
    llama = MiniCPM5(read(config))
    load(llama, random_parameters(llama, 1))
    mx.eval(llama.parameters())
    mouth = Mouth(llama, right=right)
    policy, kv = policy_for(mouth, KVScheme(), mx.float32)
    return mouth, Network(model=mouth, policy=policy, kv=kv, vocabulary=VOCABULARY, weight_bytes=0)


def measure(
    ways: Sequence[tuple[Network, dict[str, str]]],
    mouths: Sequence[Mouth],
    name: str,
    rows: int,
    args: argparse.Namespace,
) -> str:
    """Return a line of the table: one kind of traffic, without guesses and with them."""
    clock = time.process_time if args.processor_time else time.perf_counter
    plain, ratios, guessed, accepted, said = [], [], 0, 0, 0
    for seed in range(args.rounds):
        dice = random.Random(seed)  # traffic, not a secret
        scripts = [_script(name, row, PROMPT + args.tokens + 32, dice) for row in range(rows)]
        for mouth in mouths:
            mouth.scripts = mx.array([[*script[1:], 0] for script in scripts], dtype=mx.int32)
        houses = [House(way, scripts, args.tokens, clock) for way in ways]
        run(houses if seed % 2 else houses[::-1], by_turns=args.processor_time)
        (off_s, off), (on_s, on) = ((house.spent_s, house.usage) for house in houses)
        plain.append(off.completion / off_s)
        ratios.append(off_s / on_s)
        guessed, accepted, said = guessed + on.guessed, accepted + on.accepted, said + on.completion
    low, ratio, high = statistics.quantiles(ratios, n=4)
    right, share = accepted / max(1, guessed), accepted / said
    speed = statistics.median(plain)
    return f"| {rows} | {name} | {speed:.0f} | {ratio:.3f} ({low:.3f} to {high:.3f}) | {right:.0%} | {share:.0%} |"


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--traffic", nargs="+", choices=SCRIPTS, default=list(SCRIPTS))
    parser.add_argument("--drafter", type=int, metavar="LAYERS")
    parser.add_argument("--right", type=float, default=0.8)
    parser.add_argument("--processor-time", action="store_true")
    args = parser.parse_args()
    mouth, network = made(args.hidden, args.layers)
    mouths, guessing = [mouth], (network, {"speculate": "lookup"})
    if args.drafter is not None:
        smaller, held = made(args.hidden, args.drafter, right=args.right)
        drafter = ModelDrafter(held, vocabulary=VOCABULARY)
        mouths, guessing = [mouth, smaller], (replace(network, drafter=drafter), {"draft_model": "smaller"})
    print("| rows | traffic | tokens/s without | with, times as many | right guesses | guessed right |")
    print("|---|---|---|---|---|---|")
    for rows in args.rows:
        for name in args.traffic:
            if name != "one row" or rows > 1:
                line = measure([(network, {"speculate": "off"}), guessing], mouths, name, rows, args)
                print(line, flush=True)


if __name__ == "__main__":
    main()
