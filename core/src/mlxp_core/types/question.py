"""What is asked of a model that is answered with one value: nothing is generated.

Each question names the type of its answer: a ``CountRequest`` is a ``Question[Counted]``.
"""

from collections.abc import Mapping
from typing import Generic, Literal, TypeVar

from msgspec import Struct, field

from mlxp_core.types.content import Message
from mlxp_core.types.events import TokenScore
from mlxp_core.types.model import AdapterInfo, StoredAdapter
from mlxp_core.types.records import ModelState
from mlxp_core.types.request import PromptSource, ToolChoice, ToolSpec


class Counted(Struct, frozen=True, kw_only=True):
    """How many tokens the prompt of a conversation has, images included."""

    model: str
    tokens: int


class Tokenized(Struct, frozen=True, kw_only=True):
    """A text as token ids, and what each shows as; ``pieces`` of half characters are U+FFFD."""

    model: str
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]


class Detokenized(Struct, frozen=True, kw_only=True):
    """Token ids as text, and what each shows as."""

    model: str
    text: str
    pieces: tuple[str, ...]


class Rendered(Struct, frozen=True, kw_only=True):
    """A conversation as the model reads it.

    Attributes:
        text: what the chat template made of it; an image is one placeholder here.
        tokens: the ids of the prompt; an image is as many tokens as it costs.
        pieces: what each token shows as.
    """

    model: str
    text: str
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]


class Embedded(Struct, frozen=True, kw_only=True):
    """A vector for each input, in their order.

    Attributes:
        vectors: of length 1 each (Euclidean norm), all with the same number of dimensions.
        tokens: of all inputs together, as read.
    """

    model: str
    vectors: tuple[tuple[float, ...], ...]
    tokens: int


class Forecast(Struct, frozen=True, kw_only=True):
    """How likely a model finds each token after a prompt, before anything is drawn.

    Attributes:
        tokens: of the prompt.
        lowest: where the bins begin, in natural logarithms of probabilities; they end at 0.
        counts: how many tokens of the vocabulary are in each bin; what is below ``lowest`` is in the first.
        likeliest: the likeliest tokens, likeliest first.
    """

    model: str
    tokens: int
    lowest: float
    counts: tuple[int, ...]
    likeliest: tuple[TokenScore, ...]


class Mounted(Struct, frozen=True, kw_only=True):
    """The adapter that requests may name from now on."""

    adapter: AdapterInfo


class Unmounted(Struct, frozen=True, kw_only=True):
    """The adapter that requests may not name any more; rows that use it end with it."""

    adapter: AdapterInfo


class AdaptersFound(Struct, frozen=True, kw_only=True):
    """Adapters on disk that go with the model, in the order of their names."""

    adapters: tuple[StoredAdapter, ...]


class Shelved(Struct, frozen=True, kw_only=True):
    """The model that was loaded, unloaded, pinned or let loose, and how it is now."""

    model: str
    state: ModelState


Answer = (
    Counted
    | Tokenized
    | Detokenized
    | Rendered
    | Embedded
    | Forecast
    | Mounted
    | Unmounted
    | AdaptersFound
    | Shelved
)
"""Whatever a question may be answered with."""

A_co = TypeVar("A_co", bound=Answer, covariant=True)


class Question(Struct, Generic[A_co], frozen=True, kw_only=True):
    """What all questions have: a unique ``id``, as in ``GenerateRequest``, and the ``model`` the client named."""

    id: str
    model: str


class CountRequest(Question[Counted], frozen=True, kw_only=True):
    """Ask how many tokens a conversation has, as ``GenerateRequest`` would put it to the model."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    thinking: bool | None = None
    template_args: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


class RenderRequest(Question[Rendered], frozen=True, kw_only=True):
    """Ask for the prompt of a conversation, as ``GenerateRequest`` would put it to the model."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    thinking: bool | None = None
    template_args: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


class TokenizeRequest(Question[Tokenized], frozen=True, kw_only=True):
    """Ask for the tokens of a text.

    Attributes:
        special: add what the tokenizer puts around plain text, such as a beginning token.
    """

    text: str
    special: bool = True


class DetokenizeRequest(Question[Detokenized], frozen=True, kw_only=True):
    """Ask for the text of tokens; ``special``: whether special tokens show."""

    tokens: tuple[int, ...]
    special: bool = True


class EmbedRequest(Question[Embedded], frozen=True, kw_only=True):
    """Ask for vectors.

    Attributes:
        inputs: texts, or token ids; at least one.
        dimensions: keep so many of each vector's first numbers, and bring it to length 1 again; ``None`` = all.
    """

    inputs: tuple[str | tuple[int, ...], ...]
    dimensions: int | None = None


class ForecastRequest(Question[Forecast], frozen=True, kw_only=True):
    """Ask how likely each token is after a prompt, which is read as ``GenerateRequest`` would have it read.

    Attributes:
        bins: how many, at least 1.
        lowest: where they begin, below 0.
        likeliest: how many of the likeliest tokens to name.
    """

    prompt: PromptSource
    thinking: bool | None = None
    adapters: tuple[str, ...] | None = None
    bins: int
    lowest: float
    likeliest: int = 0


class MountRequest(Question[Mounted], frozen=True, kw_only=True):
    """Ask for an adapter to be mounted; the same one again changes nothing.

    Attributes:
        adapter: the id that requests will name.
        path: its folder, inside one of the adapter roots; a relative one is looked for in each of them.
    """

    adapter: str
    path: str


class UnmountRequest(Question[Unmounted], frozen=True, kw_only=True):
    """Ask for an adapter to be taken away; ``adapter`` is its id."""

    adapter: str


class FindAdapters(Question[AdaptersFound], frozen=True, kw_only=True):
    """Ask which adapters there are on disk for the model."""


ShelfAction = Literal["load", "unload", "pin", "unpin"]
"""What may be done with a model: pinned, it is loaded and stays so; rows of one that is unloaded come to their end."""


class ShelfRequest(Question[Shelved], frozen=True, kw_only=True):
    """Ask for a model to be loaded, unloaded, pinned or let loose; answered when that is done."""

    action: ShelfAction
