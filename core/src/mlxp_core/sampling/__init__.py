"""Logits to tokens, each row of a batch by its own settings.

The names here need no arrays, so the desk may use them; the engine takes ``Sampler`` from ``sampling.sampler``.

What happens to a row's logits, in this order:

1. ``logit_bias``, then the repetition penalty, then presence and frequency penalties;
2. the bitmask of the row's constraint;
3. plugin stages and, as far as their ``order`` puts them in between, the standard ones (``chain``);
4. ``top_p`` (at temperature 1), ``top_k``, ``min_p``, all three over likeliest-first candidates (``truncate``);
5. ``1 / temperature`` and a draw by inverting the cumulative distribution (``inverse``), or argmax at temperature 0.

Two rules hold everywhere. A row's tokens follow from its own logits, settings, seed and step only, bit for bit: so
the way a row is computed (its ``Route``) hangs on its own settings, never on its neighbours'. And among equal logits
the lowest token id comes first.
"""

from mlxp_core.sampling.chain import check_stages
from mlxp_core.sampling.uniforms import step_seed, uniform

__all__ = ["check_stages", "step_seed", "uniform"]
