"""What a model's eyes saw: features of images, in their places in a pass. Lives on the engine thread.

Features are kept by model and digest, the ones used last, up to a number of bytes: the next turn of a conversation
shows its images again, and a prompt read in chunks may show parts of one image to several of them.
"""

from collections import OrderedDict

import mlx.core as mx

from mlxp_core.contracts import ImageSpan, Pixels
from mlxp_core.engine.shelf import Shelf
from mlxp_core.errors import PluginError
from mlxp_core.memory import FEATURE_BYTES
from mlxp_core.prompting import Prompt


class Features:
    """Looks at images, and remembers."""

    def __init__(self, shelf: Shelf, *, limit_bytes: int = FEATURE_BYTES) -> None:
        """Begin with nothing seen.

        Args:
            shelf: has the towers.
            limit_bytes: most bytes to keep.
        """
        self._shelf = shelf
        self._limit_bytes = limit_bytes
        self._seen: OrderedDict[tuple[str, str], mx.array] = OrderedDict()
        self.nbytes = 0

    def embeddings(self, model: str, prompt: Prompt, start: int, tokens: mx.array) -> mx.array | None:
        """Return the input of a pass with images in it; ``None`` where it has none.

        Args:
            model: id of the model.
            prompt: the whole prompt.
            start: where in it the pass begins.
            tokens: ``[1, width]``, those of the pass.

        Returns:
            ``[1, width, hidden]``: embeddings of the tokens, and features where images are.

        Raises:
            EngineFault: the tower cannot be loaded.
            PluginError: the tower does not return what was announced.
        """
        end = start + tokens.shape[1]
        shown = [
            (span, pixels)
            for span, pixels in zip(prompt.spans, prompt.images, strict=True)
            if span.start < end and span.end > start
        ]
        if not shown:
            return None
        network = self._shelf[model].model
        embeddings = network.embed(tokens)
        for span, pixels in shown:
            features = self.of(model, pixels)
            _check(model, features, span, embeddings.shape[-1])
            first, last = max(span.start, start), min(span.end, end)
            rows = features[first - span.start : last - span.start].astype(embeddings.dtype)
            embeddings[:, first - start : last - start] = rows
        return embeddings

    def of(self, model: str, pixels: Pixels) -> mx.array:
        """Return the features of one image, ``[tokens, hidden]``, evaluated: one image is looked at at a time."""
        key = (model, pixels.digest)
        features = self._seen.get(key)
        if features is None:
            features = self._shelf.tower(model)(_array(pixels), pixels.grid)
            mx.eval(features)
            self._keep(key, features)
        else:
            self._seen.move_to_end(key)
        return features

    def forget(self, model: str) -> None:
        """Let go of what a model saw."""
        for key in [key for key in self._seen if key[0] == model]:
            self.nbytes -= self._seen.pop(key).nbytes

    def clear(self) -> None:
        """Forget everything."""
        self._seen.clear()
        self.nbytes = 0

    def _keep(self, key: tuple[str, str], features: mx.array) -> None:
        self._seen[key] = features
        self.nbytes += features.nbytes
        while self.nbytes > self._limit_bytes:
            _, oldest = self._seen.popitem(last=False)
            self.nbytes -= oldest.nbytes


def _array(pixels: Pixels) -> mx.array:
    view = memoryview(pixels.values)
    match pixels.dtype:
        case "uint8":
            return mx.array(view.cast("B", pixels.shape))  # type: ignore[arg-type]  # it takes any buffer
        case "float32":
            return mx.array(view.cast("f", pixels.shape))  # type: ignore[arg-type]  # as above


def _check(model: str, features: mx.array, span: ImageSpan, hidden: int) -> None:
    if features.shape != (span.count, hidden):
        raise PluginError(
            f"the vision tower of {model} returned features of shape {list(features.shape)} for an image of "
            f"{span.count} tokens; they should be [{span.count}, {hidden}]"
        )
