"""``mlxp top``: a running server in numbers, over and over."""

import signal
import threading
import time
from urllib.parse import urlsplit

import msgspec
import rich_click as click
from msgspec import Raw, Struct
from rich.console import Console
from rich.live import Live

from mlxp_core.cli.banner import url_of
from mlxp_core.cli.reach import ask
from mlxp_core.cli.selection import set_up_here
from mlxp_core.cli.top_view import Requests, Sight, Stats, view
from mlxp_core.errors import SetupError
from mlxp_core.types import ServerSettings

LEAST_S = 0.1


class _Told(Struct):
    """What ``--json`` prints: what the server says, word for word."""

    stats: Raw
    requests: Raw | None


@click.command
@click.option("--url", metavar="URL", help="Where the server answers, in place of [server] host and port.")
@click.option("--key", metavar="KEY", help="The API key, in place of the first of [server] api_keys.")
@click.option("--config", metavar="FILE", help="The settings file, in place of ./mlxp.toml.")
@click.option(
    "--every", type=click.FloatRange(LEAST_S), default=1.0, metavar="SECONDS", help="How often to look."
)
@click.option("--once", is_flag=True, help="Look once.")
@click.option("--json", "as_json", is_flag=True, help="Look once, and print JSON.")
def top(
    url: str | None, key: str | None, config: str | None, every: float, once: bool, as_json: bool
) -> None:
    """Show what a running server does: models, rows, queue, speed, memory, prompt cache, requests. Ctrl-C ends it."""
    settings = set_up_here({"plugins": {"skip_broken": True}}, config).settings.section(ServerSettings)
    where = url.rstrip("/") if url else url_of(settings.host, settings.port)
    secret = key or next(iter(settings.api_keys), None)
    if as_json:
        told = _Told(_raw(where, secret, "/stats"), _raw(where, secret, "/v1/requests?limit=20", must=False))
        click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
        return
    console = Console()
    sight = look(where, secret)
    if sight is None:
        raise SetupError(f"no server answers at {where}; name it with --url")
    if once:
        console.print(view(sight, None, urlsplit(where).netloc))
        return
    with Live(view(sight, None, urlsplit(where).netloc), console=console, auto_refresh=False) as shown:
        before: Sight | None = sight
        stop = threading.Event()
        signal.signal(
            signal.SIGINT, lambda *_: stop.set()
        )  # an exception would be lost where it cannot be raised
        while not stop.wait(every):
            now = look(where, secret)
            shown.update(view(now, before, urlsplit(where).netloc), refresh=True)
            before = now


def look(url: str, key: str | None) -> Sight | None:
    """Return what the server says of itself now; ``None`` = it does not answer."""
    stats = ask(f"{url}/stats", key, Stats)
    if stats is None:
        return None
    try:
        requests = ask(f"{url}/v1/requests?limit=200", key, Requests)
    except SetupError:  # its plugin may be off
        requests = None
    return Sight(time.monotonic(), time.time(), stats, requests or Requests())


def _raw(url: str, key: str | None, path: str, *, must: bool = True) -> Raw:
    try:
        told = ask(f"{url}{path}", key, Raw)
    except SetupError:
        if must:
            raise
        return Raw(b"null")
    if told is None:
        raise SetupError(f"no server answers at {url}; name it with --url")
    return told
