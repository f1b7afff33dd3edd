"""What anyone outside the engine may know of a model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from mlxp_core.types.fit import FitReport

Pooling = Literal["last", "mean", "weighted_mean"]
"""How the hidden states of a text become its vector: the last one, their mean, or the mean weighted by position."""


Capability = Literal["chat", "tools", "thinking", "vision", "embeddings"]
"""The name of one field of ``Capabilities``."""


class Capabilities(Struct, frozen=True, kw_only=True):
    """What a model can do, as its files and its family say."""

    chat: bool = True
    tools: bool = False
    thinking: bool = False
    vision: bool = False
    embeddings: bool = True


class GenerationDefaults(Struct, frozen=True, kw_only=True):
    """Sampling recommendations of generation_config.json; ``None`` where it says nothing."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None


class ModelInfo(Struct, frozen=True, kw_only=True):
    """One model on offer.

    Attributes:
        id: the name clients use.
        path: its folder.
        family: name of the model family.
        context: longest sequence in tokens.
        vocabulary: number of logits.
        weight_bytes: bytes of its weight files.
    """

    id: str
    path: Path
    family: str
    context: int
    vocabulary: int
    weight_bytes: int
    created: int = 0
    capabilities: Capabilities = Capabilities()
    defaults: GenerationDefaults = GenerationDefaults()


class Appraisal(Struct, frozen=True, kw_only=True):
    """What can be said of a model folder without loading it.

    Attributes:
        name: the id under which it would be served.
        family: who claims it; ``None`` = it cannot be served, and ``fault`` says why.
        fault: what keeps it from being served.
        context: longest sequence in tokens; 0 when unknown.
        weight_bytes: bytes of its weight files; 0 when unknown.
        vision: whether it sees.
        fit: how it fits this machine with a context of usual length; ``None`` = not known.
    """

    name: str
    family: str | None = None
    fault: str | None = None
    context: int = 0
    weight_bytes: int = 0
    vision: bool = False
    fit: FitReport | None = None


class ModelChoice(Struct, frozen=True, kw_only=True):
    """A model to serve where none was named.

    Attributes:
        why: in a few words, such as "the largest downloaded one that fits".
    """

    path: Path
    why: str


class AdapterInfo(Struct, frozen=True, kw_only=True):
    """One mounted adapter.

    Attributes:
        id: the name requests use.
        path: its folder.
        model: id of the model it is mounted on.
        key: names this mount, and no other before or after it: caches of prompts keep rows apart by it.
        rank: the largest rank of its modules.
        scale: what its terms are multiplied by, where no pattern says otherwise.
        base_model: what it says it was trained on.
        size_bytes: of its matrices in memory.
        modules: how many modules it changes.
        unused: modules that it was trained on and that the network has no use for.
        warnings: what is odd and was passed over.
    """

    id: str
    path: Path
    model: str = ""
    key: str = ""
    rank: int | None = None
    scale: float = 1.0
    base_model: str | None = None
    size_bytes: int = 0
    modules: int = 0
    unused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class StoredAdapter(Struct, frozen=True, kw_only=True):
    """An adapter that lies in one of the adapter roots and may be mounted.

    Attributes:
        id: the name of its folder.
        rank, scale, base_model: as in ``AdapterInfo``; rank is unknown where its configuration cannot be read.
        mounted: whether it is.
    """

    id: str
    path: Path
    rank: int | None = None
    scale: float = 1.0
    base_model: str | None = None
    mounted: bool = False


class Catalogue(Struct, frozen=True):
    """Everything on offer now; replaced whole, never mutated. The first model is the default one.

    Attributes:
        aliases: further names of models.
        usual: id of a model -> how its tokens are drawn for requests that do not say.
    """

    models: tuple[ModelInfo, ...] = ()
    adapters: tuple[AdapterInfo, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    usual: Mapping[str, GenerationDefaults] = field(default_factory=dict)
