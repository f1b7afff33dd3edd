"""Where a request becomes a ticket: choose the model, fill in defaults, refuse, prepare, queue."""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, cast

from msgspec.structs import replace

from mlxp_core import __version__
from mlxp_core.contracts import PluginReport, ProtocolReport, Services, Settings
from mlxp_core.desk import capabilities, catalogue, defaults, embedding, preparing
from mlxp_core.desk.adapters import Adapters
from mlxp_core.desk.door import Door
from mlxp_core.desk.embedding import Embedding
from mlxp_core.desk.faces import EngineFace, FrontendFace, RegistryFace
from mlxp_core.desk.fetch import Fetcher, P
from mlxp_core.desk.forecasting import forecast
from mlxp_core.desk.house import House
from mlxp_core.desk.on_disk import OnDisk
from mlxp_core.desk.preparing import Prepared
from mlxp_core.desk.questions import answer_text, conversation, with_thinking
from mlxp_core.desk.reports import report, with_measured
from mlxp_core.desk.shelf import shelve
from mlxp_core.desk.ticket import Ticket
from mlxp_core.desk.workers import Workers
from mlxp_core.engine import Pool
from mlxp_core.errors import MlxpError
from mlxp_core.loading import Place
from mlxp_core.memory import MemoryPlan
from mlxp_core.types import (
    AdapterInfo,
    Answer,
    Appraisal,
    Catalogue,
    CountRequest,
    DetokenizeRequest,
    Embedded,
    EmbedRequest,
    EngineSettings,
    EngineStats,
    FindAdapters,
    Fit,
    ForecastRequest,
    GenerateRequest,
    GenerationSettings,
    ModelInfo,
    MountRequest,
    Question,
    RenderRequest,
    RunningRequest,
    ServerSettings,
    ShelfRequest,
    TokenizeRequest,
    UnmountRequest,
)

A = TypeVar("A", bound=Answer)


class Desk(Services):
    """The running server, as protocols and plugins see it. Belongs to the event-loop thread."""

    def __init__(
        self,
        engine: EngineFace,
        frontends: Mapping[str, FrontendFace],
        registry: RegistryFace,
        settings: Settings,
        *,
        aliases: Mapping[str, str] | None = None,
        adapter_roots: Sequence[Path] = (),
        draw_seed: Callable[[], int] = lambda: secrets.randbits(32),
        fetcher: Fetcher | None = None,
        memory: MemoryPlan | None = None,
        place: Place | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Open a desk.

        Args:
            engine: takes the orders.
            frontends: model id -> its half without arrays; the first is the default model.
            registry: what the plugins brought.
            settings: all of them.
            aliases: further names of models.
            adapter_roots: folders that adapters may be mounted from, besides those of the settings.
            draw_seed: where seeds come from when a request has none.
            fetcher: gets images by URL; absent = one for the hosts that the settings allow.
            memory: says what fits this machine; ``None`` = nobody does.
            place: where further models could be served; ``None`` = nobody says whether they fit.
            clock: seconds that only grow.
            now: seconds since 1970.

        Raises:
            BadAdapter: an adapter of the settings is missing, damaged, or of a kind we do not have.
        """
        self.settings, self.version, self.started_s = settings, __version__, now()
        self._engine, self._frontends, self._registry = engine, frontends, registry
        offered = tuple(frontend.info for frontend in frontends.values())
        self._catalogue = Catalogue(offered, (), dict(aliases or {}), defaults.usual(settings, offered))
        self._adapters = Adapters(engine, settings, roots=adapter_roots, changed=self._offer)
        self._fetcher = fetcher or Fetcher(settings.section(ServerSettings).image_hosts)
        self._memory = memory
        self.models = OnDisk(registry, place, self.catalogue)
        self._now, self._draw_seed = now, draw_seed
        self._house, self._door = House(clock), Door()
        self._generation = settings.section(GenerationSettings)
        self._engine_settings = settings.section(EngineSettings)
        self._workers = Workers(self._engine_settings.queue)

    def catalogue(self) -> Catalogue:
        """Return the models and adapters on offer now."""
        return self._catalogue

    def _offer(self, adapters: tuple[AdapterInfo, ...]) -> None:
        self._catalogue = replace(self._catalogue, adapters=adapters)

    def stats(self) -> EngineStats:
        """Return the engine's last snapshot; ``stopping`` as soon as no more requests are taken."""
        stats = self._engine.stats()
        return replace(stats, state="stopping") if self._door.stopping and stats.state == "ready" else stats

    def plugins(self) -> tuple[PluginReport, ...]:
        """Return every plugin found, in name order."""
        return self._registry.reports()

    def protocols(self) -> tuple[ProtocolReport, ...]:
        """Return every protocol that is on."""
        return tuple(report(protocol) for protocol in self._registry.protocols.values())

    def appraise(self, folder: Path, context: int | None = None) -> Appraisal:
        """Say what can be said of a model folder without loading it; reads files, so not on the event-loop thread."""
        return self.models.appraise(folder, context)

    def fit(
        self, model: str = "", *, rows: int = 1, context: int | None = None, skus: bool = False
    ) -> Fit | None:
        """Say how a model fits this machine; see ``Services.fit``."""
        chosen = catalogue.choose(self._catalogue, model)
        if self._memory is None:
            return None
        told = self._memory.fit(chosen.id, rows=rows, context=context, skus=skus)
        recorded = self._registry.measured_speed(chosen.path)
        return with_measured(told, self._engine.stats(), self._now, recorded)

    async def generate(
        self, request: GenerateRequest, *, protocol: str = "", pool: Pool | None = None
    ) -> Ticket:
        """Check, prepare and queue a request.

        Args:
            request: what is asked.
            protocol: which API surface asks; for the record.
            pool: takes numbers in place of an answer, if it is these that are wanted.

        Raises:
            BadRequest: it asks for what is not there, or does not fit the context.
            UnknownModel: several models are on offer, and not this one.
            Busy: too many requests wait already.
            Unavailable: the server is stopping, or the engine is lost.
        """
        self._check_open(request.id)
        self._door.check_held()
        model = catalogue.choose(self._catalogue, request.model)
        named = catalogue.adapters_of(self._catalogue, request.adapters, self._generation.adapters, model)
        request = replace(request, adapters=tuple(each.id for each in named))
        shape = capabilities.check(
            request, model, self._registry, catalogue.tool_format(model, self._registry)
        )
        request = defaults.fill(
            replace(request, output=shape), settings=self._generation, model=model, seed=self._draw_seed()
        )
        first, *others = [await self._fetched(each) for each in (request.prompt, *request.further_prompts)]
        request = replace(request, prompt=first, further_prompts=tuple(others))
        prepared = await self._workers.do(
            lambda: preparing.prepare(
                request,
                self._frontends[model.id],
                self._registry.constraints,
                usual_length=self._generation.max_tokens,
                admission=None if self._memory is None else self._memory.admission,
            )
        )
        self._check_open(request.id)
        return self._submit(prepared, protocol, pool)

    async def answer(self, question: Question[A], *, protocol: str = "") -> A:
        """Answer a question with one value. Cancelling the wait cancels the work.

        Args:
            question: what is asked.
            protocol: which API surface asks; for the record.

        Raises:
            BadRequest: the model cannot answer it, or a text does not fit its context.
            UnknownModel: several models are on offer, and not this one.
            Busy: too many requests wait already.
            Unavailable: the server is stopping, the engine is lost, or the request was cancelled.
        """
        self._check_open(question.id)
        model = catalogue.choose(self._catalogue, question.model)
        given: Answer
        match question:
            case CountRequest() | RenderRequest():
                told = with_thinking(question, self._generation.thinking)
                capabilities.check_conversation(conversation(told), model)
                told = replace(told, messages=await self._fetched(told.messages))
                given = await self._workers.do(lambda: answer_text(told, self._frontends[model.id]))
            case TokenizeRequest() | DetokenizeRequest() as asked:
                given = await self._workers.do(lambda: answer_text(asked, self._frontends[model.id]))
            case EmbedRequest():
                given = await self._embed(question, model, protocol)
            case ForecastRequest():
                given = await forecast(question, self.generate, self._frontends[model.id], protocol=protocol)
            case MountRequest() | UnmountRequest() | FindAdapters() as about:
                given = await self._adapters.answer(about, model, self._workers.do)
            case ShelfRequest():
                given = await shelve(question, self._engine, self._catalogue)
            case _:
                raise TypeError(f"nobody answers a {type(question).__name__}")
        return cast("A", given)  # the type that the question names, though no checker can follow that

    def requests(self) -> tuple[RunningRequest, ...]:
        """Return how far every request is that has not ended, oldest first."""
        return self._house.show_all()

    def running(self, request_id: str) -> RunningRequest | None:
        """Return how far a request is; ``None`` when none is running under that id."""
        return self._house.show(request_id)

    def cancel(self, request_id: str) -> bool:
        """Cancel a request by id; false when none is running under it."""
        return self._house.cancel(request_id)

    def hold(self, why: str | None) -> None:
        """Refuse new answers and vectors, until ``None`` comes."""
        self._door.held = why

    async def drain(self, grace_s: float) -> None:
        """Take no more requests; give the running ones ``grace_s`` seconds, then cancel them."""
        self._door.stopping = True
        try:
            await asyncio.wait_for(self._house.empty(), grace_s)
        except TimeoutError:
            self._house.cancel_all()

    def start(self, post: Callable[[Callable[[], None]], object]) -> None:
        """Start the engine; ``post`` runs a function on the event-loop thread."""
        self._engine.start(post, self._adapters.beginning(self._catalogue.models))

    def stop(self) -> None:
        """Stop the engine and the worker threads, ending what still runs. Blocks; may be called from any thread."""
        self._door.stopping = True
        self._workers.stop()
        self._engine.stop(0.0)

    def _check_open(self, request_id: str) -> None:
        self._door.check()
        self._workers.check()
        self._house.check_new(request_id)

    async def _fetched(self, prompt: P) -> P:
        """Put images in place of their addresses."""
        with self._workers.counted():
            return await self._fetcher.fill(prompt)

    async def _embed(self, question: EmbedRequest, model: ModelInfo, protocol: str) -> Embedded:
        self._door.check_held()
        embedding.check(question, model)
        frontend = self._frontends[model.id]
        lot = await self._workers.do(lambda: embedding.prepare(question, frontend, protocol=protocol))
        self._check_open(question.id)
        running = Embedding(lot, self._engine, frontend, abreast=self._engine_settings.batch)
        with self._house.guest(question.id, running, model=model.id, protocol=protocol):
            return await running.answer(question.dimensions)

    def _submit(self, prepared: list[Prepared], protocol: str, pool: Pool | None) -> Ticket:
        request = prepared[0].request
        # Once more: adapters may have gone while the request was prepared.
        mounts = catalogue.mounts_of(self._catalogue, request.adapters or ())
        ticket = Ticket(
            request,
            len(prepared) * request.choices,
            leave=lambda: self._engine.cancel(request.id),
            close=lambda: self._house.leave(request.id),
        )
        self._house.enter(request.id, ticket, model=request.model, protocol=protocol)
        try:
            self._engine.submit(
                preparing.orders(prepared, protocol=protocol, sink=ticket.take, mounts=mounts, pool=pool)
            )
        except MlxpError:
            self._house.leave(request.id)
            raise
        return ticket
