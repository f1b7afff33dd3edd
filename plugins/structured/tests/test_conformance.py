"""The plugin and its kinds against the shared kit."""

import pytest

from mlxp_core.testing.constraint import ConstraintSuite
from mlxp_core.testing.plugin import PluginSuite
from mlxp_structured import plugin as module

BODIES = {
    "json_object": [None],
    "json_schema": [{}, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}],
    "regex": [{"regex": "[a-z]+ [0-9]{2}"}, {"regex": "x?"}],
    "choice": [{"choice": ["yes", "no"]}],
    "grammar": [{"grammar": 'start: "a" B\nB: /[0-9]+/'}],
    "pieces": [
        {"start": {"type": "chain", "pieces": [{"type": "marker", "text": "<think>"}, {"type": "words"}]}}
    ],
}
REFUSED = {
    "json_object": [],
    "json_schema": [None, 5, {"type": "object", "not": {}}, {"type": 5}],
    "regex": [None, {}, {"regex": "("}],
    "choice": [None, {"choice": []}, {"choice": "yes"}],
    "grammar": [None, {"grammar": "begin: /a/"}],
    "pieces": [None, {"start": {"type": "unheard of"}}],
}


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return module


class TestKinds(ConstraintSuite):
    @pytest.fixture(params=BODIES)
    def name(self, request):
        return request.param

    @pytest.fixture
    def kind(self, name):
        return {kind.name: kind for kind in module.mlxp_constraints()}[name]

    @pytest.fixture
    def bodies(self, name):
        return BODIES[name]

    @pytest.fixture
    def refused(self, name):
        return REFUSED[name]
