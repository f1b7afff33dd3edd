"""``mlxp replay``: ask again what a transcript has, and say whether the answer is the same."""

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import msgspec
import rich_click as click
from msgspec import Raw

from mlxp_core.cli.banner import url_of
from mlxp_core.cli.selection import set_up_here
from mlxp_core.errors import SetupError
from mlxp_core.types import (
    TRANSCRIPT_TYPE,
    TRANSCRIPT_VERSION,
    SaidCall,
    SaidText,
    SaidThinking,
    ServerSettings,
    ToldChoice,
    Transcript,
)

SAME, DIFFERENT, UNKNOWN = 0, 1, 2
"""Exit statuses; unknown is what could not be asked again."""


class _Version(msgspec.Struct):
    mlxp_transcript: int = 0


@click.command
@click.argument("transcripts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--url", metavar="URL", help="Where the server answers, in place of [server] host and port.")
@click.option("--key", metavar="KEY", help="The API key, in place of the first of [server] api_keys.")
@click.option("--config", metavar="FILE", help="The settings file, in place of ./mlxp.toml.")
@click.pass_context
def replay(
    ctx: click.Context, transcripts: tuple[Path, ...], url: str | None, key: str | None, config: str | None
) -> None:
    """Ask again what each of TRANSCRIPTS has, with the same seed, and compare the answers.

    Transcripts are kept by a server with --records. The exit status is 0 if all answers are the same, 1 if one differs,
    2 if one could not be asked again.
    """
    settings = set_up_here({"plugins": {"skip_broken": True}}, config).settings.section(ServerSettings)
    where = url.rstrip("/") if url else url_of(settings.host, settings.port)
    secret = key or next(iter(settings.api_keys), None)
    status = SAME
    for path in transcripts:
        try:
            before = read(path)
            after = ask_again(before, where, secret)
        except SetupError as error:
            click.echo(f"{path.name}: {error.message}", err=True)
            status = UNKNOWN
            continue
        difference = "\n".join(compared(before, after))
        click.echo(difference or f"{path.name}: the same")
        status = max(status, DIFFERENT if difference else SAME)
    ctx.exit(status)


def read(path: Path) -> Transcript:
    """Return the transcript in a file.

    Raises:
        SetupError: there is none, or one of another version.
    """
    try:
        data = path.read_bytes()
        version = msgspec.json.decode(data, type=_Version).mlxp_transcript
        if version != TRANSCRIPT_VERSION:
            raise SetupError(
                f"it is no transcript of version {TRANSCRIPT_VERSION}, but of {version or 'none'}"
            )
        return msgspec.json.decode(data, type=Transcript)
    except OSError as error:
        raise SetupError(f"it cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise SetupError(f"it is no transcript: {error}") from error


def ask_again(before: Transcript, url: str, key: str | None) -> Transcript:
    """Send the same request with the same seed, and return the transcript of its answer.

    Raises:
        SetupError: the server does not answer, or refuses.
    """
    query = f"?{urlencode(before.query)}" if before.query else ""
    headers = {"content-type": "application/json", "accept": TRANSCRIPT_TYPE}
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    asked = Request(  # noqa: S310  # the user's own address
        f"{url}{before.path}{query}", data=seeded(before), headers=headers, method=before.method
    )
    direct = build_opener(ProxyHandler({}))  # no proxy stands before one's own server
    try:
        with direct.open(asked) as answer:
            body: bytes = answer.read()
    except HTTPError as error:
        with error:
            raise SetupError(
                f"{url} answers {error.code}: {error.read().decode('utf-8', 'replace')}"
            ) from error
    except (URLError, OSError) as error:
        raise SetupError(f"no server answers at {url}: {error}") from error
    try:
        return msgspec.json.decode(body, type=Transcript)
    except msgspec.DecodeError as error:
        raise SetupError(f"{url} keeps no transcripts; is it a server of this version?") from error


def seeded(before: Transcript) -> bytes:
    """Return the body as it was sent, with the seed that was drawn for it, if it had none."""
    try:
        fields = msgspec.json.decode(before.body, type=dict[str, Raw])
    except msgspec.DecodeError:
        return bytes(before.body)
    if before.seed is not None and fields.get("seed", Raw(b"null")) == Raw(b"null"):
        fields["seed"] = Raw(str(before.seed).encode())
    return msgspec.json.encode(fields)


def compared(before: Transcript, after: Transcript) -> Iterator[str]:
    """Yield the lines that tell the differences of two answers; none = they are the same."""
    old, new = (list(_lines(told.choices)) for told in (before, after))
    yield from unified_diff(old, new, _title(before), _title(after), lineterm="")


def _title(told: Transcript) -> str:
    adapters = f" with {'+'.join(told.adapters)}" if told.adapters else ""
    return f"{told.id} ({told.path}, {told.model}{adapters}, mlxp {told.version})"


def _lines(choices: Sequence[ToldChoice]) -> Iterator[str]:
    """Yield what counts of choices: times, ids and what came from the prompt cache do not."""
    for choice in choices:
        yield f"choice {choice.choice}, seed {choice.seed}"
        for part in choice.said:
            match part:
                case SaidText(text=text):
                    yield from _block("text", text)
                case SaidThinking(text=text):
                    yield from _block("thinking", text)
                case SaidCall(name=name, arguments=arguments, broken=broken):
                    yield from _block(
                        f"call of {name}" + (f", broken: {broken}" if broken else ""), arguments
                    )
        used = choice.usage
        yield f"{used.prompt} tokens read, {used.completion} drawn, {used.thinking} of them thinking"
        stop = "" if choice.stop is None else f" at {choice.stop!r}"
        yield f"ended by {choice.reason}{stop}" + (f": {choice.error}" if choice.error else "")


def _block(title: str, text: str) -> Iterator[str]:
    yield f"{title}:"
    for line in text.split("\n"):
        yield f"  {line}"
