"""A plugin author's view of every hook and contract. Must pass mypy in strict mode; is never run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pluggy
from msgspec import Raw, Struct

from mlxp_core import hookimpl
from mlxp_core.contracts import (
    CallSign,
    Constraint,
    ConstraintKind,
    Decoded,
    Encoder,
    Endpoint,
    Exchange,
    Exchanged,
    Expansion,
    ImagePreparer,
    Inputs,
    KVPolicy,
    LanguageModel,
    LayerCache,
    ModelFamily,
    Pixels,
    Query,
    RawConfig,
    SamplerStage,
    Services,
    Settings,
    SettingsSection,
    ThinkingFormat,
    ToolFormat,
    ToolParser,
    VisionNetwork,
    VisionTower,
    Vocabulary,
    WireProtocol,
)
from mlxp_core.errors import BadRequest, MlxpError
from mlxp_core.types import (
    Counted,
    CountRequest,
    Event,
    Finished,
    GenerateRequest,
    MeasuredSpeed,
    Message,
    ModelInfo,
    Need,
    RequestRecord,
    Text,
    TextDelta,
    WireRequest,
    WireResponse,
)

if TYPE_CHECKING:
    import mlx.core as mx
    from litestar.types import ControllerRouterHandler
    from PIL import Image


class Options(Struct, frozen=True):
    """A section of mlxp.toml."""

    greeting: str = "hello"


class Config(Struct, frozen=True):
    """The part of config.json that matters."""

    vocab_size: int


class Net:
    """A network; in earnest an ``mlx.nn.Module``."""

    def __init__(self, config: Config) -> None:
        """Keep the configuration."""
        self.config = config

    def __call__(self, inputs: Inputs, caches: Sequence[LayerCache]) -> mx.array:
        """Return hidden states."""
        return self.embed(inputs.tokens) if inputs.embeddings is None else inputs.embeddings

    def logits(self, hidden: mx.array) -> mx.array:
        """Return scores."""
        return hidden

    def embed(self, tokens: mx.array) -> mx.array:
        """Return embeddings."""
        return tokens

    def make_caches(self, policy: KVPolicy) -> list[LayerCache]:
        """Return no caches."""
        return []

    def update(self, parameters: dict[str, Any]) -> object:
        """Take parameters."""
        return parameters

    def parameters(self) -> dict[str, Any]:
        """Return none."""
        return {}


def read(raw: RawConfig) -> Config:
    """Read config.json."""
    return Config(int(raw["vocab_size"]))


def build(config: Config) -> LanguageModel:
    """Build the network."""
    return Net(config)


class Parser:
    """Reads nothing as a call."""

    rest: str | None = None

    def feed(self, text: str) -> Iterable[CallSign]:
        """Take text."""
        return ()

    def finish(self, *, cut: bool) -> Iterable[CallSign]:
        """End."""
        return ()


def parser(tools: object) -> ToolParser:
    """Make a parser."""
    return Parser()


class Eye:
    """Prepares images and looks at them."""

    placeholder = "<image>"

    def prepare(self, image: Image.Image, digest: str) -> Pixels:
        """Prepare an image."""
        return Pixels(values=image.tobytes(), shape=(1,), tokens=1, grid=(1, 1, 1), digest=digest)

    def expand(self, pixels: Pixels) -> Expansion:
        """Return what stands for it in the prompt."""
        return Expansion("<soft>", before="<begin>" if pixels.grid[0] == 1 else "")

    def __call__(self, pixels: mx.array, grid: tuple[int, int, int]) -> mx.array:
        """Return features."""
        return pixels


def eyes(config: RawConfig) -> Config | None:
    """Say whether a checkpoint has eyes."""
    return Config(vocab_size=1) if "vision_config" in config else None


def preparer(config: Config, processor: Mapping[str, Any]) -> ImagePreparer:
    """Make a preparer."""
    return Eye()


def tower(config: Config) -> VisionNetwork:
    """Make a tower."""
    return Eye()


class Question(Struct, frozen=True):
    """A body."""

    text: str


class Words:
    """Encodes text alone."""

    streaming = True
    media_type = "text/plain"

    def feed(self, event: Event) -> bytes:
        """Return the words of a delta."""
        match event:
            case TextDelta(text=text):
                return text.encode()
            case Finished():
                return b"\n"
            case _:
                return b""

    def keep_alive(self) -> bytes:
        """Stay silent."""
        return b""

    def failure(self) -> WireResponse | None:
        """Never fail before the first byte."""
        return None


def words() -> Encoder:
    """Make an encoder."""
    return Words()


def decode(request: WireRequest) -> Decoded:
    """Turn a body into a request."""
    if not request.body:
        raise BadRequest("the body is empty; send a question", param="text")
    prompt = (Message(role="user", parts=(Text(request.body.decode()),)),)
    return Decoded(GenerateRequest(id="1", model="", prompt=prompt), words())


def asked(request: WireRequest) -> Exchanged[Counted]:
    """Turn a body into a question."""
    prompt = (Message(role="user", parts=(Text(request.body.decode()),)),)
    return Exchanged(CountRequest(id="1", model="", messages=prompt), counted)


def counted(answer: Counted) -> WireResponse:
    """Write its answer."""
    return WireResponse(body=str(answer.tokens).encode())


async def count_by_route(services: Services) -> int:
    """Ask a question from a route of one's own."""
    return (await services.answer(CountRequest(id="1", model="", messages=()))).tokens


def answer(request: WireRequest, services: Services) -> WireResponse:
    """Answer at once."""
    return WireResponse(status=200, body=str(len(services.plugins())).encode())


def render_error(error: MlxpError) -> WireResponse:
    """Show an error as text."""
    return WireResponse(status=error.status, body=error.message.encode())


class Anything:
    """Allows every token."""

    def __init__(self, size: int) -> None:
        """Note the number of tokens."""
        self.size = size

    def allowed(self) -> bytes:
        """Allow all."""
        return b"\xff" * ((self.size + 7) // 8)

    def advance(self, token: int) -> None:
        """Take any."""


def compiled(body: Raw | None, vocabulary: Vocabulary) -> Constraint:
    """Compile a shape."""
    return Anything(vocabulary.size)


@hookimpl
def mlxp_add_hookspecs(manager: pluggy.PluginManager) -> None:
    """Add none."""


@hookimpl
def mlxp_settings_sections() -> list[SettingsSection]:
    """Declare a section."""
    return [SettingsSection(name="author", type=Options, summary="Greetings.")]


@hookimpl
def mlxp_model_families(settings: Settings) -> list[ModelFamily]:
    """Bring a family."""
    name = settings.section(Options).greeting
    return [
        ModelFamily(
            name=name,
            model_types=(name,),
            config=read,
            build=build,
            rename=lambda tensor: tensor,
            need=lambda config, width: Need(weights=width * config.vocab_size),
        )
    ]


@hookimpl
def mlxp_tool_formats() -> list[ToolFormat]:
    """Bring a tool format."""
    return [ToolFormat(name="author", openers=("<call>",), parser=parser)]


@hookimpl
def mlxp_thinking_formats() -> tuple[ThinkingFormat, ...]:
    """Bring a thinking format."""
    return (ThinkingFormat(name="author", open="<think>", close="</think>"),)


@hookimpl
def mlxp_vision_towers() -> list[VisionTower]:
    """Bring a tower."""
    return [
        VisionTower(name="author", config=eyes, preparer=preparer, build=tower, rename=lambda tensor: tensor)
    ]


@hookimpl
def mlxp_protocols() -> list[WireProtocol]:
    """Bring a protocol."""
    say = Endpoint(path="/say", decode=decode, accepts=Question, returns=Question, summary="Say it")
    count = Query(path="/count", answer=answer, returns=Question, summary="Count plugins")
    ask = Exchange(path="/ask", decode=asked, accepts=Question, returns=Question, summary="Count tokens")
    return [WireProtocol(name="author", endpoints=(say, count, ask), render_error=render_error)]


@hookimpl
def mlxp_sampler_stages() -> list[SamplerStage]:
    """Bring a stage."""
    return [SamplerStage(name="author", order=450, params=Options, build=lambda rows: lambda logits: logits)]


@hookimpl
def mlxp_constraints() -> list[ConstraintKind]:
    """Bring a constraint."""
    return [ConstraintKind(name="author", compile=compiled)]


@hookimpl
def mlxp_routes(services: Services) -> list[ControllerRouterHandler]:
    """Bring no routes."""
    return []


@hookimpl
def mlxp_commands() -> list[click.Command]:
    """Bring a command."""
    return [click.Command("author")]


@hookimpl(trylast=True)
def mlxp_resolve_model(ref: str, settings: Settings) -> Path | None:
    """Know no model."""
    return None


@hookimpl
def mlxp_measured_speed(model: Path, settings: Settings) -> MeasuredSpeed | None:
    """Have measured nothing."""
    return None


@hookimpl
def mlxp_started(services: Services) -> None:
    """Note the start."""


@hookimpl
def mlxp_model_loaded(model: ModelInfo) -> None:
    """Note a model."""


@hookimpl
def mlxp_request_finished(record: RequestRecord) -> None:
    """Note a request."""


@hookimpl
def mlxp_stopping() -> None:
    """Note the end."""
