"""Both stages against the shared kit."""

import pytest

from mlxp_core.testing.plugin import PluginSuite
from mlxp_core.testing.sampling import SamplerSuite
from mlxp_curves.curve import Curve, Point
from mlxp_curves.hlg import Hlg
from mlxp_curves.plugin import CURVE, HLG, CurvesPlugin


def diagonal(*percentages):
    return Curve(tuple(Point(pct, pct) for pct in percentages))


class TestPlugin(PluginSuite):
    @pytest.fixture
    def plugin(self):
        return CurvesPlugin


class TestHlg(SamplerSuite):
    @pytest.fixture
    def stage(self):
        return HLG

    @pytest.fixture
    def settings(self):
        return [
            Hlg(),
            Hlg(mode="shaper"),
            Hlg(width=0, shoulder=1, pivot="median"),
            Hlg(mode="oetf"),
            Hlg(enabled=False, mode="eotf"),
            Hlg(toe=0, pivot="entropy"),
            Hlg(mode="eotf"),
            Hlg(mode="pipeline"),
            Hlg(shoulder=0, toe=0),
        ]

    @pytest.fixture
    def neutral(self):
        return Hlg(enabled=False)


class TestCurve(SamplerSuite):
    @pytest.fixture
    def stage(self):
        return CURVE

    @pytest.fixture
    def settings(self):
        return [
            Curve((Point(0, 0), Point(100, 50))),
            Curve((Point(1e-4, 1e-3), Point(0.1, 0.2), Point(1, 0.6), Point(9, 7), Point(100, 100))),
            diagonal(1e-4, 100),
            Curve((Point(1, 5), Point(10, 5), Point(100, 100))),
        ]

    @pytest.fixture
    def neutral(self):
        return diagonal(1e-4, 0.1, 1, 9, 100)
