"""A model that is let go of gives its memory back, though it was there when the server had started."""

import gc
import weakref
from contextlib import nullcontext

import mlx.core as mx
import pytest
from mlx import nn

from mlxp_core.cli.sweeping import unswept
from mlxp_core.engine.shelf import Shelf
from mlxp_core.kv import PlainPolicy
from mlxp_core.loading.network import Network


class Circle(nn.Module):
    """A network whose parts know the whole."""

    def __init__(self):
        super().__init__()
        self.part = nn.Linear(4, 4)
        self.part.whole = [self]


@pytest.mark.parametrize("start", [unswept, nullcontext])
def test_a_circle_of_modules_is_gone_with_its_model(start):
    def load(*_):
        return Network(model=Circle(), policy=PlainPolicy(mx.float32), vocabulary=4, weight_bytes=0)

    shelf = Shelf({"m": None}, halted=lambda: False, load=load)
    try:
        with start():
            shelf.load("m")
        model = weakref.ref(shelf["m"].model)
        frozen = gc.get_freeze_count()
        shelf.unload("m")
        assert model() is None
        assert (gc.get_freeze_count() > 0) == (frozen > 0)
    finally:
        gc.unfreeze()
