"""What looking at an image takes: the law of ``VisionTower.need``."""

import mlx.core as mx
import pytest

from mlxp_core.contracts import ImagePreparer, Pixels, VisionConfig, VisionNetwork, VisionTower
from mlxp_core.memory import Footprint, look_of
from mlxp_core.testing.needs import FLOAT32_BYTES, SPARE_BYTES, UNFUSED
from mlxp_core.testing.pictures import chequered


class LookLaws:
    """Held by ``VisionSuite``."""

    @pytest.mark.parametrize("size", [(64, 48), (200, 200)])
    def test_looking_takes_no_more_than_need_says(
        self,
        tower: VisionTower,
        config: VisionConfig,
        preparer: ImagePreparer,
        network: VisionNetwork,
        size: tuple[int, int],
    ) -> None:
        """The peak of one image; twice as much may pass in a network as small as this."""
        if tower.need is None:
            pytest.skip("the tower does not say what an image takes: no plan counts it")
        pixels = preparer.prepare(chequered(*size), "digest")
        mx.clear_cache()
        before = mx.get_active_memory()
        mx.reset_peak_memory()
        mx.eval(look(network, pixels))
        peak = mx.get_peak_memory() - before
        said = look_of(tower.need(config), UNFUSED, FLOAT32_BYTES)
        allowed = 2 * Footprint(weights=0, look=said).looking(pixels.tokens) + SPARE_BYTES
        assert peak <= allowed, f"an image took {peak} bytes, and need allows {allowed}"


def look(network: VisionNetwork, pixels: Pixels) -> mx.array:
    """Return the features of an image, ``[tokens, hidden]``, in float32."""
    view = memoryview(pixels.values)
    match pixels.dtype:
        case "uint8":
            values = mx.array(view.cast("B", pixels.shape))  # type: ignore[arg-type]  # it takes any buffer
        case "float32":
            values = mx.array(view.cast("f", pixels.shape))  # type: ignore[arg-type]  # as above
    return network(values, pixels.grid).astype(mx.float32)
