"""Measure servers side by side.

    python -m benchmarks.serving --preset mid --rounds 3 --out run.json --markdown run.md
    python -m benchmarks.serving --servers mlxp,mlx-lm,rapid-mlx --models mid-llama,mid-hybrid
    python -m benchmarks.serving --render run.json

A model is a folder, or one of the benchmark's own checkpoints, which are written on first use. Rounds go to and fro (A
B C, C B A), so that what else the machine does falls on all; before them each server is started once, so that nobody
compiles. Each gets a home of its own, so no cache of an earlier round helps. Peers are looked for in virtual
environments under ``--peers``, named like their profiles:

    uv venv PEERS/mlx-lm && VIRTUAL_ENV=PEERS/mlx-lm uv pip install 'mlx[cpu]' mlx-lm
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

from benchmarks.serving.checkpoints.write import NAMES, write
from benchmarks.serving.measure import MEASURES, measured, rehearsed
from benchmarks.serving.presets import PRESETS, Preset
from benchmarks.serving.profiles import Profile, profiles
from benchmarks.serving.report import markdown
from benchmarks.serving.results import Block, Run, read
from benchmarks.serving.results import write as write_runs

CACHE = Path(".cache/serving")


def main() -> None:
    """Measure, or show what was measured."""
    chosen = _arguments().parse_args()
    if chosen.render:
        print("\n".join(map(markdown, read(chosen.render))))
        return
    known = profiles()
    names = chosen.servers.split(",")
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"no such server: {', '.join(unknown)}; there are {', '.join(known)}")
    preset = PRESETS[chosen.preset]
    if chosen.measures:
        preset = replace(preset, measures=tuple(chosen.measures.split(",")))
    runs: list[Run] = []
    for name in chosen.models.split(","):
        model = write(chosen.checkpoints, name) if name in NAMES else Path(name)
        servers = {server: known[server] for server in names}
        runs.append(_run(model.resolve(), servers, preset, chosen.rounds, chosen.peers.resolve()))
        if chosen.out:
            write_runs(runs, chosen.out)
    text = "\n".join(map(markdown, runs))
    if chosen.markdown:
        chosen.markdown.write_text(text, encoding="utf-8")
    print(text)


def _run(model: Path, servers: dict[str, Profile], preset: Preset, rounds: int, peers: Path) -> Run:
    """Measure all servers on one model."""
    begun = time.strftime("%Y-%m-%d %H:%M")
    blocks: dict[str, list[Block]] = {name: [] for name in servers}
    with tempfile.TemporaryDirectory() as work:
        failed = {name: rehearsed(profile, model, Path(work), peers) for name, profile in servers.items()}
        for name in [name for name, fault in failed.items() if fault is not None]:
            print(f"{model.name}, {name} does not start: {failed[name]}", file=sys.stderr)
            del blocks[name]
        for number in range(rounds):
            order = list(blocks) if number % 2 == 0 else list(blocks)[::-1]
            for name in order:
                block = measured(servers[name], model, preset, str(number), Path(work), peers)
                blocks[name].append(block)
                said = block.failed or f"{block.counts.errors} errors"
                print(f"{model.name}, round {number + 1}, {name}: {said}", file=sys.stderr)
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    what = {name: servers[name].what for name in blocks}
    return Run(model=model.name, preset=preset, begun=begun, machine=machine, what=what, blocks=blocks)


def _arguments() -> argparse.ArgumentParser:
    told = argparse.ArgumentParser(
        prog="python -m benchmarks.serving",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    told.add_argument("--servers", default="mlxp,mlx-lm", help="names of profiles; ratios are of the first")
    told.add_argument("--models", default="mid-llama", help=f"folders, or of {', '.join(NAMES)}")
    told.add_argument("--preset", default="mid", choices=list(PRESETS))
    told.add_argument("--measures", help=f"in place of the preset's: of {', '.join(MEASURES)}")
    told.add_argument("--rounds", type=int, default=3)
    told.add_argument("--out", type=Path, help="keep everything as JSON")
    told.add_argument("--markdown", type=Path, help="write the tables")
    told.add_argument("--peers", type=Path, default=CACHE / "peers")
    told.add_argument("--checkpoints", type=Path, default=CACHE / "checkpoints")
    told.add_argument("--render", type=Path, help="show the tables of an earlier run")
    return told


if __name__ == "__main__":
    main()
