"""What the desk needs of its neighbours, no more; their classes and the kit's stand-ins both fit."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from mlxp_core.contracts import (
    ModelFamily,
    PluginReport,
    ThinkingFormat,
    ToolFormat,
    VisionTower,
    Vocabulary,
    WireProtocol,
)
from mlxp_core.desk.capabilities import Offer
from mlxp_core.engine import Mount, Order, Shelve, Unmount
from mlxp_core.prompting import Prompt
from mlxp_core.reading import Reader, Thought
from mlxp_core.types import EngineStats, GenerateRequest, MeasuredSpeed, ModelInfo, Pooling, RequestRecord


class EngineFace(Protocol):
    """The engine, as others see it."""

    def start(self, post: Callable[[Callable[[], None]], object], mounts: Sequence[Mount] = ()) -> None:
        """Start; ``post`` runs a function on the event-loop thread, ``mounts`` come before anything is answered."""
        ...

    def submit(self, orders: Sequence[Order]) -> None:
        """Take all orders of one request, or none; raises ``Busy`` or ``Unavailable``."""
        ...

    def cancel(self, request_id: str) -> bool:
        """End a request early; false when it is not there."""
        ...

    def mount(self, message: Mount) -> None:
        """Mount an adapter, and call its ``reply`` on the event-loop thread; raises ``Unavailable``."""
        ...

    def unmount(self, message: Unmount) -> None:
        """Let go of an adapter once no order takes it."""
        ...

    def shelve(self, message: Shelve) -> None:
        """Load, unload, pin or let loose a model, and call its ``reply`` on the event-loop thread."""
        ...

    def stop(self, grace_s: float) -> None:
        """Stop; blocks until the thread has ended."""
        ...

    def stats(self) -> EngineStats:
        """Return the last snapshot."""
        ...


class TextTable(Vocabulary, Protocol):
    """What the desk needs of a tokenizer."""

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Return the ids of a text."""
        ...

    def decode(self, tokens: Sequence[int], *, special: bool = True) -> str:
        """Return the text of ids."""
        ...

    def token_text(self, token: int) -> str:
        """Return what one token shows as."""
        ...


class FrontendFace(Protocol):
    """A model's half without arrays. Its methods may run on any thread."""

    @property
    def info(self) -> ModelInfo:
        """What anyone may know of the model."""
        ...

    @property
    def tokenizer(self) -> TextTable:
        """Text to token ids and back."""
        ...

    @property
    def pooling(self) -> Pooling | None:
        """How hidden states become the vector of a text; ``None`` = they do not."""
        ...

    def prepare(self, request: GenerateRequest) -> Prompt:
        """Render and tokenize; raises ``BadRequest``."""
        ...

    def thought(self, request: GenerateRequest, prompt: Prompt) -> Thought | None:
        """Return what is to be known of thinking, where the answer has a shape or a budget; raises ``BadRequest``."""
        ...

    def reader(self, request: GenerateRequest, prompt: Prompt, choice: int) -> Reader:
        """Return what will read one choice's tokens."""
        ...


class ObserversFace(Protocol):
    """Whom to tell when a choice has ended."""

    def request_finished(self, record: RequestRecord) -> None:
        """Tell every observer; never raises."""
        ...


class RegistryFace(Offer, Protocol):
    """What plugins brought."""

    @property
    def families(self) -> Mapping[str, ModelFamily]:
        """Model families by name."""
        ...

    @property
    def tool_formats(self) -> Mapping[str, ToolFormat]:
        """Tool formats by name."""
        ...

    @property
    def thinking_formats(self) -> Mapping[str, ThinkingFormat]:
        """Formats of thinking by name."""
        ...

    @property
    def vision_towers(self) -> Mapping[str, VisionTower]:
        """Kinds of eyes by name."""
        ...

    @property
    def protocols(self) -> Mapping[str, WireProtocol]:
        """API surfaces by name."""
        ...

    @property
    def observers(self) -> ObserversFace:
        """The observers."""
        ...

    def reports(self) -> tuple[PluginReport, ...]:
        """Return every plugin found."""
        ...

    def measured_speed(self, model: Path) -> MeasuredSpeed | None:
        """Return how fast the model in a folder was, if anybody knows."""
        ...

    def resolve(self, ref: str) -> Path | None:
        """Return the folder of a model reference; ``None`` = no plugin knows it."""
        ...
