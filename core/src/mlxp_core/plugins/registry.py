"""What the plugins bring, asked once and kept as plain data; the only caller of register hooks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import click
from msgspec import Struct

from mlxp_core.contracts import (
    Appraise,
    ConstraintKind,
    ModelFamily,
    PluginReport,
    SamplerStage,
    Services,
    Settings,
    ThinkingFormat,
    ToolFormat,
    VisionTower,
    WireProtocol,
)
from mlxp_core.errors import PluginError
from mlxp_core.plugins.calls import PluginFault, ask, attempt, checked, first_answer, implementations
from mlxp_core.plugins.clashes import Brought, clashes
from mlxp_core.plugins.loader import Plugins
from mlxp_core.plugins.observers import Observers
from mlxp_core.types import MeasuredSpeed, ModelChoice

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

T = TypeVar("T")

CORE_COMMANDS = frozenset({"serve", "launch", "fit", "plugins", "top", "replay", "doctor"})
"""Names of commands that no plugin may take."""


class _Kind(Struct, frozen=True):
    """One kind of thing to bring: its contract, the hook that brings it, and its name for one and for many."""

    contract: type
    hook: str
    one: str
    many: str


_KINDS = (
    _Kind(ModelFamily, "mlxp_model_families", "model family", "families"),
    _Kind(ToolFormat, "mlxp_tool_formats", "tool format", "tool_formats"),
    _Kind(ThinkingFormat, "mlxp_thinking_formats", "thinking format", "thinking_formats"),
    _Kind(VisionTower, "mlxp_vision_towers", "vision tower", "vision_towers"),
    _Kind(WireProtocol, "mlxp_protocols", "protocol", "protocols"),
    _Kind(SamplerStage, "mlxp_sampler_stages", "sampler stage", "sampler_stages"),
    _Kind(ConstraintKind, "mlxp_constraints", "constraint", "constraints"),
)
_COMMANDS = _Kind(click.Command, "mlxp_commands", "command", "commands")


class _Answer(Struct, frozen=True):
    owner: str
    kind: _Kind
    name: str
    thing: object


class Registry(Struct, frozen=True, kw_only=True, eq=False):
    """Everything the plugins brought, by name.

    Plain data: once it is built, only ``observers``, ``routes``, ``resolve``, ``default_model`` and
    ``measured_speed`` run hooks.

    Attributes:
        commands: what the plugins add to ``mlxp``; none where nobody wanted to know.
        observers: tells observers what happens.
        plugins: who brought it.
        settings: what hooks are given.
        brought: plugin that is on -> kind -> names; ``hooks`` are those that bring no named thing.
        ask_ms: plugin name -> time its register hooks took.
    """

    families: Mapping[str, ModelFamily]
    tool_formats: Mapping[str, ToolFormat]
    thinking_formats: Mapping[str, ThinkingFormat]
    vision_towers: Mapping[str, VisionTower]
    protocols: Mapping[str, WireProtocol]
    sampler_stages: Mapping[str, SamplerStage]
    constraints: Mapping[str, ConstraintKind]
    commands: tuple[click.Command, ...]
    observers: Observers
    plugins: Plugins
    settings: Settings
    brought: Mapping[str, Mapping[str, tuple[str, ...]]]
    ask_ms: Mapping[str, float]

    def reports(self) -> tuple[PluginReport, ...]:
        """Return every plugin found, in name order, with the faults of its observers so far."""
        return tuple(
            PluginReport(
                name=each.name,
                module=each.candidate.module,
                dist=each.candidate.dist,
                version=each.candidate.version,
                state=each.state,
                brings=self.brought.get(each.name, {}) if each.state == "on" else {},
                load_ms=round(each.load_ms + self.ask_ms.get(each.name, 0.0), 3),
                faults=self.observers.faults(each.name),
                fault=each.fault,
                warnings=each.warnings,
            )
            for each in sorted(self.plugins.found, key=lambda each: (each.name, each.candidate.dist))
        )

    def routes(self, services: Services) -> tuple[ControllerRouterHandler, ...]:
        """Return the plugins' own Litestar routes.

        Raises:
            PluginError: a plugin fails to give them and broken plugins are not to be skipped; else that plugin's
                routes are left out, and the fault is logged and counted.
        """
        routes: list[ControllerRouterHandler] = []
        hook = "mlxp_routes"
        for implementation in implementations(self.plugins.manager.hook.mlxp_routes):
            try:
                answer = attempt(hook, partial(ask, implementation, {"services": services}))
                routes.extend(checked(hook, answer, object))  # type: ignore[arg-type]  # Litestar judges them
            except PluginFault as fault:
                if not self.plugins.skip_broken:
                    raise PluginError(f"plugin {implementation.plugin_name}: {fault}") from fault
                self.observers.record(implementation.plugin_name, fault)
        return tuple(routes)

    def resolve(self, ref: str) -> Path | None:
        """Return the folder of a model reference, or ``None`` when no plugin knows it. The first answer wins.

        Raises:
            MlxpError: what a plugin said on purpose, such as a download that was refused.
            PluginError: a plugin failed, or answered with something that is no path.
        """
        arguments = {"ref": ref, "settings": self.settings}
        caller = self.plugins.manager.hook.mlxp_resolve_model
        return first_answer(caller, arguments, Path, f"asked for the model {ref!r}")

    def default_model(self, appraise: Appraise) -> ModelChoice | None:
        """Return the model to serve where none was named, or ``None`` when no plugin has one. The first answer wins.

        Args:
            appraise: looks at a model folder without loading it.

        Raises:
            MlxpError: what a plugin said on purpose.
            PluginError: a plugin failed, or answered with something else.
        """
        arguments = {"settings": self.settings, "appraise": appraise}
        caller = self.plugins.manager.hook.mlxp_default_model
        return first_answer(caller, arguments, ModelChoice, "asked for a model to serve")

    def measured_speed(self, model: Path) -> MeasuredSpeed | None:
        """Return how fast the model in a folder was, if anybody knows; what goes wrong is logged and counted."""
        for implementation in implementations(self.plugins.manager.hook.mlxp_measured_speed):
            arguments = {"model": model, "settings": self.settings}
            try:
                answer = attempt("mlxp_measured_speed", partial(ask, implementation, arguments))
            except PluginFault as fault:
                self.observers.record(implementation.plugin_name, fault)
                continue
            if isinstance(answer, MeasuredSpeed):
                return answer
        return None


def build_registry(
    plugins: Plugins,
    settings: Settings,
    *,
    commands: bool = True,
    clock: Callable[[], float] = perf_counter,
) -> Registry:
    """Ask every plugin once for everything it brings.

    Args:
        plugins: the loaded plugins.
        settings: handed to the hooks that want them.
        commands: ask for commands, too.
        clock: seconds, for load times.

    Raises:
        PluginError: a plugin fails, gives things of the wrong type, or brings what another one brings too, and
            broken plugins are not to be skipped.
    """
    kinds = (*_KINDS, _COMMANDS) if commands else _KINDS
    answers, faults, ask_ms = _asked(plugins, settings, kinds, clock)
    described = {each.name: str(each) for each in plugins.found}
    brought = [Brought(answer.owner, answer.kind.one, answer.name) for answer in answers]
    for answer in answers:
        if answer.kind is _COMMANDS and answer.name in CORE_COMMANDS:
            faults.setdefault(answer.owner, f"its command {answer.name!r} has the name of one of the core's")
    if faults := {**clashes(brought, described), **faults}:
        plugins = plugins.without(faults)
        answers = [answer for answer in answers if answer.owner not in plugins.absent]
    answers.sort(key=lambda answer: answer.name)
    return Registry(
        families=_named(answers, ModelFamily),
        tool_formats=_named(answers, ToolFormat),
        thinking_formats=_named(answers, ThinkingFormat),
        vision_towers=_named(answers, VisionTower),
        protocols=_named(answers, WireProtocol),
        sampler_stages=_named(answers, SamplerStage),
        constraints=_named(answers, ConstraintKind),
        commands=tuple(_named(answers, click.Command).values()),
        observers=Observers(plugins.manager),
        plugins=plugins,
        settings=settings,
        brought=_summary(plugins, answers, {kind.hook for kind in kinds}),
        ask_ms=ask_ms,
    )


def _asked(
    plugins: Plugins, settings: Settings, kinds: Sequence[_Kind], clock: Callable[[], float]
) -> tuple[list[_Answer], dict[str, str], Mapping[str, float]]:
    answers: list[_Answer] = []
    faults: dict[str, str] = {}
    ask_ms: defaultdict[str, float] = defaultdict(float)
    for kind in kinds:
        for implementation in implementations(getattr(plugins.manager.hook, kind.hook)):
            owner = implementation.plugin_name
            start = clock()
            try:
                answer = attempt(kind.hook, partial(ask, implementation, {"settings": settings}))
                things: tuple[object, ...] = checked(kind.hook, answer, kind.contract)
                answers += [_Answer(owner, kind, _name(kind, thing), thing) for thing in things]
            except PluginFault as fault:
                faults.setdefault(owner, str(fault))
            ask_ms[owner] += (clock() - start) * 1000
    return answers, faults, ask_ms


def _name(kind: _Kind, thing: object) -> str:
    name = getattr(thing, "name", None)
    if not isinstance(name, str) or not name:
        raise PluginFault(f"{kind.hook} returned a {kind.one} whose name is {name!r}; it must be a text")
    return name


def _named(answers: Sequence[_Answer], contract: type[T]) -> Mapping[str, T]:
    return MappingProxyType(
        {answer.name: answer.thing for answer in answers if isinstance(answer.thing, contract)}
    )


def _summary(
    plugins: Plugins, answers: Sequence[_Answer], asked: set[str]
) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    brought: dict[str, dict[str, tuple[str, ...]]] = {}
    for each in plugins.found:
        if each.state == "on":
            hooks = sorted({name for name, _ in each.marks} - asked)
            brought[each.name] = {"hooks": tuple(hooks)} if hooks else {}
    for answer in answers:
        kinds = brought[answer.owner]
        kinds[answer.kind.many] = (*kinds.get(answer.kind.many, ()), answer.name)
    return MappingProxyType(brought)
