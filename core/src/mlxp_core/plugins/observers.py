"""The only caller of observe hooks. An observer that fails is logged and counted; the server goes on."""

import logging
from collections import Counter
from collections.abc import Mapping
from functools import partial

from pluggy import HookImpl, PluginManager

from mlxp_core.contracts import Services
from mlxp_core.plugins.calls import PluginFault, ask, attempt, implementations
from mlxp_core.types import ModelInfo, RequestRecord

_LOG = logging.getLogger("mlxp.plugins")


class Observers:
    """The observers of the plugins that are on; called on the event-loop thread."""

    def __init__(self, manager: PluginManager) -> None:
        """Note who observes what; later registrations are not seen."""
        self._started = implementations(manager.hook.mlxp_started)
        self._model_loaded = implementations(manager.hook.mlxp_model_loaded)
        self._request_finished = implementations(manager.hook.mlxp_request_finished)
        self._stopping = implementations(manager.hook.mlxp_stopping)
        self._faults: Counter[str] = Counter()

    def started(self, services: Services) -> None:
        """Say that the server accepts requests."""
        self._tell("mlxp_started", self._started, {"services": services})

    def model_loaded(self, model: ModelInfo) -> None:
        """Say that a model is ready."""
        self._tell("mlxp_model_loaded", self._model_loaded, {"model": model})

    def request_finished(self, record: RequestRecord) -> None:
        """Say that a choice of a request ended, well or not."""
        self._tell("mlxp_request_finished", self._request_finished, {"record": record})

    def stopping(self) -> None:
        """Say that the server is about to stop."""
        self._tell("mlxp_stopping", self._stopping, {})

    def faults(self, plugin: str) -> int:
        """Return how often ``plugin`` failed since the start."""
        return self._faults[plugin]

    def record(self, plugin: str, fault: PluginFault) -> None:
        """Count a failure and log it: the first of a plugin with its traceback, later ones in a line."""
        self._faults[plugin] += 1
        first = self._faults[plugin] == 1
        _LOG.error("plugin %s: %s", plugin, fault, exc_info=fault if first else None)

    def _tell(self, hook: str, observers: list[HookImpl], arguments: Mapping[str, object]) -> None:
        for observer in observers:
            try:
                attempt(hook, partial(ask, observer, arguments))
            except PluginFault as fault:
                self.record(observer.plugin_name, fault)
