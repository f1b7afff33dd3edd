"""The core's own sections of mlxp.toml; each field is also a flag of ``mlxp serve`` and an ``MLXP_*`` variable."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from mlxp_core.types.kv import RING_SLACK, KVMode


class ServerSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[server]``: the HTTP side.

    Attributes:
        host: address to bind; loopback by default.
        port: port to bind; 0 takes a free one.
        body_limit_bytes: largest request body.
        keep_alive_s: longest silence on a stream before a keep-alive is sent.
        stall_s: how long a client may take nothing of an answer, or send nothing of a request, before it is given up.
        grace_s: how long running requests may go on after a stop signal.
        strict: refuse unknown request fields instead of warning.
        api_keys: when not empty, every request but a health check must carry one of them.
        allowed_hosts: further names for this server in ``Host`` headers; with a key and a public address any will do.
        cors_origins: origins of web pages that may call this server, such as ``http://localhost:3000``; ``*`` = all.
        insecure_public: allow an address that others can reach without an API key.
        image_hosts: hosts that images may be fetched from; ``*.example.org`` = those below it, ``*`` = all public ones.
        records: folder for a transcript of every answer, the conversation included; absent = nothing is kept.
        records_bytes: most bytes in that folder; the oldest transcripts go.
    """

    host: str = "127.0.0.1"
    port: int = 8090
    body_limit_bytes: int = 128 * 2**20
    keep_alive_s: float = 10.0
    stall_s: float = 60.0
    grace_s: float = 10.0
    strict: bool = False
    api_keys: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    insecure_public: bool = False
    image_hosts: tuple[str, ...] = ()
    records: Path | None = None
    records_bytes: int = 2**30


class EngineSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[engine]``: how generation is run.

    Attributes:
        batch: most rows decoded together.
        queue: most requests waiting; beyond it new ones get 429.
        prefill_chunk: tokens of a prompt read between two decode steps.
        memory_budget: what models may take, such as ``12GB`` or ``8GiB``; absent = what this machine has to spare.
        prompt_cache_bytes: memory for prompts that may come again; 0 = off, absent = an eighth of the machine's.
        prompt_cache_dir: folder that keeps them over a restart; absent = nothing is written.
        prompt_cache_disk_bytes: most bytes in that folder.
        dtype: type of the weights; ``auto`` = float32 on a CPU, as stored elsewhere.
        kv_quant: bits of keys and values: ``config`` = as the model's kv_config.json says, plain without one.
        kv_plain_ends: with bits for all layers, so many attention layers at either end are kept plain.
        speculate: how tokens are guessed ahead: ``lookup`` = by what followed in the text before; ``head`` = by the
            draft head that the model's files hold; ``off``.
        draft_model: reference of a smaller model with the same tokens, which guesses in place of ``speculate``.
        speculate_tokens: most tokens guessed for a row at once, 1 to 16.
        on_death: when the engine is lost: ``stay`` up and say so, ``restart`` it with weights loaded anew, or ``exit``.
    """

    batch: int = 32
    queue: int = 128
    prefill_chunk: int = 512
    memory_budget: str | None = None
    prompt_cache_bytes: int | None = None
    prompt_cache_dir: Path | None = None
    prompt_cache_disk_bytes: int = 16 * 2**30
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    kv_quant: KVMode = "config"
    kv_plain_ends: int = 0
    speculate: Literal["off", "lookup", "head"] = "off"
    draft_model: str | None = None
    speculate_tokens: Annotated[int, Meta(ge=1, le=RING_SLACK)] = 8
    on_death: Literal["stay", "restart", "exit"] = "stay"

    @property
    def by_head(self) -> bool:
        """Say whether models' own draft heads guess."""
        return self.speculate == "head" and self.draft_model is None

    @property
    def drafting(self) -> bool:
        """Say whether a network guesses: a head, or a smaller model."""
        return self.by_head or self.draft_model is not None

    @property
    def guessing(self) -> bool:
        """Say whether anything does."""
        return self.drafting or self.speculate != "off"


class GenerationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[generation]``: defaults of this deployment, stronger than the model's own, weaker than a request's.

    Attributes:
        model: reference of the model to serve (a folder, a name a plugin resolves).
        max_tokens: length of an answer when the request does not say.
        thinking: on, off, or the template's own default.
        adapters: ids of mounted adapters for requests that name none.
    """

    model: str | None = None
    max_tokens: int = 1024
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    thinking: bool | None = None
    adapters: tuple[str, ...] = ()


class ModelsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[models]``: several models in one server; they share the memory budget and take turns in it.

    Attributes:
        serve: references of the models to serve, the default one first, in place of ``generation.model``.
        alias: further names for them, each as ``NAME=MODEL``, where the model is called as in ``serve`` or by its id.
        pin: models that stay loaded, by reference, id or alias; others make room and go when they are idle.
        unload_after_s: how long a model may be idle before it is unloaded; absent = for ever.
    """

    serve: tuple[str, ...] = ()
    alias: tuple[str, ...] = ()
    pin: tuple[str, ...] = ()
    unload_after_s: float | None = None


class AdapterSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[adapters]``: low-rank adapters (LoRA).

    Attributes:
        mount: adapters to mount at start, each as ``ID=FOLDER``.
        roots: folders that adapters may be mounted from while the server runs, besides the user's own adapters and
            those of ``mount``.
    """

    mount: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()


class PluginSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[plugins]``: which plugins are on, by entry-point name.

    Attributes:
        disable: these are off.
        only: when not empty, all others are off.
        skip_broken: leave broken plugins out instead of refusing to start.
    """

    disable: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    skip_broken: bool = False
