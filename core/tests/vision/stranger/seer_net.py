"""The seer's networks."""

import mlx.core as mx
from mlx import nn


class Seer(nn.Module):
    """One layer of attention over embeddings that know their positions."""

    def __init__(self, config):
        super().__init__()
        hidden = config.hidden_size
        self.table = nn.Embedding(config.vocab_size, hidden)
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.head = nn.Linear(hidden, config.vocab_size, bias=False)
        self._looks_ahead = config.looks_ahead
        self._waves = mx.exp(-mx.arange(hidden) / 4)

    def __call__(self, inputs, caches):
        hidden = self.embed(inputs.tokens) if inputs.embeddings is None else inputs.embeddings
        places, blocks = _lay_out(inputs)
        hidden = hidden + mx.sin(places[..., None] * self._waves)
        overlay = (blocks[:, :, None] == blocks[:, None]) & (blocks[:, :, None] > 0)
        q, k, v = (layer(hidden)[:, None] for layer in (self.q, self.k, self.v))
        overlay = overlay if self._looks_ahead and any(inputs.images) else None
        seen = caches[0].attend(q, k, v, inputs.at, scale=hidden.shape[-1] ** -0.5, overlay=overlay)
        return hidden + self.o(seen[:, 0])

    def logits(self, hidden):
        return self.head(hidden)

    def embed(self, tokens):
        return self.table(tokens)

    def make_caches(self, policy):
        return [policy.full(0)]


def _lay_out(inputs):
    """Return each token's position, and the number of the image it is of: an image advances by its longer side."""
    at = inputs.at
    places, blocks = [], []
    for row, start in enumerate(at.starts):
        now = inputs.images[row] if inputs.images else ()
        past = inputs.past_images[row] if inputs.past_images else ()
        place = start - sum(span.count - max(span.grid) for span in past)
        place -= sum(start - span.start for span in now if span.start < start)
        places.append([0] * at.width)
        blocks.append([0] * at.width)
        for index in range(at.width):
            inside = [number for number, span in enumerate(now, 1) if span.start <= start + index < span.end]
            places[row][index] = place
            if not inside:
                place += 1
                continue
            (number,) = inside
            span = now[number - 1]
            blocks[row][index] = number
            places[row][index] = place + (start + index - span.start) // span.grid[2]
            if start + index == span.end - 1:
                place += max(span.grid)
    return mx.array(places), mx.array(blocks)


class Eye(nn.Module):
    """A colour becomes a feature; where the dot is turns it."""

    def __init__(self, config):
        super().__init__()
        self.colour = nn.Linear(3, config.hidden_size, bias=False)
        self.place = mx.zeros((config.side * config.side, config.hidden_size))

    def __call__(self, pixels, grid):
        dots = pixels.reshape(-1, 3).astype(mx.float32) / 255
        return self.colour(dots) * 2 + self.place[: dots.shape[0]]
