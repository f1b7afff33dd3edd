"""The adapters on offer: mounted while the server runs, found on disk, named by requests.

Everything here belongs to the event-loop thread. What is mounted changes when the engine says that it is, and what is
unmounted when it is asked for; requests are given their mounts by key when they are handed in, on this thread too. So
the engine hears of every mount before the first request that names it, and of its end after the last.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from mlxp_core.adapters import AdapterFolder, Fitted, holds_adapter, open_adapter
from mlxp_core.adapters.base import same_base
from mlxp_core.contracts import Settings
from mlxp_core.desk.adapter_names import check_id, inside, split_mounts
from mlxp_core.desk.faces import EngineFace
from mlxp_core.engine import Mount, Unmount
from mlxp_core.errors import BadAdapter, Conflict, MlxpError, SettingsError, UnknownAdapter
from mlxp_core.types import (
    AdapterInfo,
    AdapterSettings,
    AdaptersFound,
    FindAdapters,
    GenerationSettings,
    ModelInfo,
    Mounted,
    MountRequest,
    StoredAdapter,
    Unmounted,
    UnmountRequest,
)

T = TypeVar("T")

AdapterQuestion = MountRequest | UnmountRequest | FindAdapters

_log = logging.getLogger(__name__)


class Work(Protocol):
    """Does what takes time on a worker thread."""

    def __call__(self, work: Callable[[], T], /) -> Coroutine[Any, Any, T]:
        """Return what ``work`` returns."""
        ...


class _Coming(Struct, frozen=True):
    path: Path
    task: asyncio.Task[AdapterInfo]


class Adapters:
    """Adapters by id."""

    def __init__(
        self,
        engine: EngineFace,
        settings: Settings,
        *,
        roots: Sequence[Path],
        changed: Callable[[tuple[AdapterInfo, ...]], object],
        new_key: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        """Read the adapters of the start; none is mounted yet.

        Args:
            engine: mounts them.
            settings: the operator's.
            roots: further folders that adapters may be mounted from.
            changed: told all mounted adapters whenever they change.
            new_key: makes a text that nobody else makes, here or in another process.

        Raises:
            BadAdapter: an adapter of the settings is missing or cannot be mounted.
            SettingsError: they name adapters wrongly, or ones for requests that name none that are not among them.
        """
        self._engine = engine
        self._changed = changed
        self._new_key = new_key
        self._mounted: dict[str, AdapterInfo] = {}
        self._coming: dict[str, _Coming] = {}
        own, usual = settings.section(AdapterSettings), settings.section(GenerationSettings).adapters
        self._first = {name: open_adapter(path) for name, path in split_mounts(own.mount).items()}
        for name in usual:
            if name not in self._first:
                raise SettingsError(
                    f"[generation] adapters: {name!r} is none of those mounted at start; add --adapter {name}=FOLDER"
                )
        given = [Path(root).expanduser().resolve() for root in own.roots]
        first = [folder.path for folder in self._first.values()]
        self.roots = tuple(dict.fromkeys([*(root.resolve() for root in roots), *given, *first]))

    def beginning(self, models: Sequence[ModelInfo]) -> list[Mount]:
        """Return what must be mounted before anything is answered: the adapters of the settings, on the first model."""
        return [self._order(name, folder, models[0], vital=True) for name, folder in self._first.items()]

    async def answer(
        self, question: AdapterQuestion, model: ModelInfo, work: Work
    ) -> Mounted | Unmounted | AdaptersFound:
        """Answer a question about adapters; see the methods below."""
        match question:
            case MountRequest(adapter=name, path=path):
                return Mounted(adapter=await self.mount(name, path, model, work))
            case UnmountRequest(adapter=name):
                return Unmounted(adapter=self.unmount(name))
            case FindAdapters():
                return AdaptersFound(adapters=await work(lambda: self.search(model)))

    async def mount(self, name: str, path: str, model: ModelInfo, work: Work) -> AdapterInfo:
        """Mount an adapter; the same one again changes nothing. Who leaves meanwhile leaves it being mounted.

        Args:
            name: what requests will call it.
            path: its folder, absolute or below one of the roots.
            model: what it is mounted on.
            work: reads its files.

        Raises:
            BadRequest: the id or the folder cannot be one.
            BadAdapter: it does not fit, or is of a kind we do not have.
            Conflict: another adapter has this id.
        """
        check_id(name)
        folder = await work(lambda: inside(path, self.roots))
        there = self._mounted.get(name)
        if there is not None:
            if (there.path, there.model) == (folder, model.id):
                return there
            raise Conflict(
                f"adapter {name!r} is mounted from {there.path} on {there.model}; unmount it first, or take another id",
                param="adapter",
            )
        coming = self._coming.get(name)
        if coming is None:
            task = asyncio.create_task(self._carry_out(name, folder, model, work))
            coming = self._coming[name] = _Coming(folder, task)
            task.add_done_callback(lambda done: self._arrived(name, done))
        elif coming.path != folder:
            raise Conflict(
                f"adapter {name!r} is being mounted from {coming.path}; take another id", param="adapter"
            )
        return await asyncio.shield(coming.task)

    def unmount(self, name: str) -> AdapterInfo:
        """Take an adapter away. Requests that were handed in with it keep it to their end.

        Raises:
            UnknownAdapter: it is not mounted.
        """
        info = self._mounted.pop(name, None)
        if info is None:
            raise UnknownAdapter(
                f"adapter {name!r} is not mounted; mounted: {', '.join(self._mounted) or 'none'}",
                param="adapter",
            )
        self._engine.unmount(Unmount(info.model, info.key))
        self._tell()
        return info

    def search(self, model: ModelInfo) -> tuple[StoredAdapter, ...]:
        """Return the adapters in the roots that may go with a model; reads files, so on a worker thread."""
        mounted = {info.path for info in tuple(self._mounted.values())}
        found = (_stored(folder, mounted) for folder in _folders(self.roots))
        fitting = (
            each for each in found if each.base_model is None or same_base(each.base_model, model.path)
        )
        return tuple(sorted(fitting, key=lambda each: (each.id, each.path)))

    async def _carry_out(self, name: str, path: Path, model: ModelInfo, work: Work) -> AdapterInfo:
        folder = await work(lambda: open_adapter(path))
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        faults: list[MlxpError] = []

        def replied(fault: MlxpError | None) -> None:
            faults.extend([] if fault is None else [fault])
            done.set_result(None)

        self._engine.mount(self._order(name, folder, model, replied=replied))
        await done
        if faults:
            raise faults[0]
        return self._mounted[name]

    def _order(
        self,
        name: str,
        folder: AdapterFolder,
        model: ModelInfo,
        *,
        vital: bool = False,
        replied: Callable[[MlxpError | None], object] = lambda _: None,
    ) -> Mount:
        """Return the message that mounts an adapter, and notes that it is before ``replied`` is told."""
        key = f"{name}@{self._new_key()}"

        def reply(outcome: Fitted | MlxpError) -> None:
            match outcome:
                case Fitted():
                    self._note(_info(name, key, folder, model, outcome))
                    replied(None)
                case fault:
                    replied(fault)

        return Mount(model=model.id, key=key, folder=folder, reply=reply, vital=vital)

    def _note(self, info: AdapterInfo) -> None:
        for warning in info.warnings:
            _log.warning("adapter %s: %s", info.id, warning)
        self._mounted[info.id] = info
        self._tell()

    def _arrived(self, name: str, task: asyncio.Task[AdapterInfo]) -> None:
        del self._coming[name]
        if not task.cancelled() and task.exception() is not None:
            _log.info("adapter %s was not mounted: %s", name, task.exception())

    def _tell(self) -> None:
        self._changed(tuple(self._mounted.values()))


def _info(name: str, key: str, folder: AdapterFolder, model: ModelInfo, fitted: Fitted) -> AdapterInfo:
    warnings = []
    if folder.base_model is not None and not same_base(folder.base_model, model.path):
        warnings.append(f"it was trained on {folder.base_model}, and is mounted on {model.id}")
    if fitted.unused:
        warnings.append(f"{len(fitted.unused)} of its modules are ones that {model.id} does without")
    return AdapterInfo(
        id=name,
        path=folder.path,
        model=model.id,
        key=key,
        rank=folder.rank,
        scale=folder.scale,
        base_model=folder.base_model,
        size_bytes=fitted.size_bytes,
        modules=fitted.modules,
        unused=fitted.unused,
        warnings=tuple(warnings),
    )


def _folders(roots: Sequence[Path]) -> list[Path]:
    """Return the folders of adapters among the roots and right below them, each once."""
    below = [child for root in roots if root.is_dir() for child in sorted(root.iterdir())]
    return [each for each in dict.fromkeys([*roots, *below]) if each.is_dir() and holds_adapter(each)]


def _stored(folder: Path, mounted: set[Path]) -> StoredAdapter:
    try:
        read = open_adapter(folder)
    except BadAdapter:
        return StoredAdapter(id=folder.name, path=folder)
    return StoredAdapter(
        id=folder.name,
        path=folder,
        rank=read.rank,
        scale=read.scale,
        base_model=read.base_model,
        mounted=read.path in mounted,
    )
