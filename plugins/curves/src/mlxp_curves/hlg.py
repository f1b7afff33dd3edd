"""Settings of the stage ``hlg``: log-probabilities bent as hybrid log-gamma bends light.

The parametric curve is straight around a pivot and logarithmic beyond a width: a shoulder above, a toe below. It takes
the place of top_p, top_k and min_p; its gain is the inverse of the temperature, which comes after it. The other modes
are experiments: the functions of ITU-R BT.2100 taken literally, and a shaped version of them.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Nats = Annotated[float, Meta(ge=0, le=100)]


class Hlg(Struct, frozen=True):
    """What a request may say in ``sampler_stages.hlg``; all of it has a default.

    Attributes:
        enabled: false leaves the log-probabilities as they are.
        width: nats around the pivot that stay straight.
        shoulder: softness above them, in nats; 0 = they go on straight.
        toe: softness below them, in nats; 0 = they go on straight.
        pivot_offset: how far below its base the pivot lies, in nats.
        pivot: the base: the likeliest token, the mean log-probability (minus the entropy), or the token in the middle
            of the mass. Only ``top`` is safe with large vocabularies: the toe lifts the tail.
        mode: ``parametric``, or an experiment that looks at no other setting.
    """

    enabled: bool = True
    width: Nats = 4.0
    shoulder: Nats = 4.0
    toe: Nats = 6.0
    pivot_offset: Nats = 6.0
    pivot: Literal["top", "entropy", "median"] = "top"
    mode: Literal["parametric", "oetf", "eotf", "pipeline", "shaper"] = "parametric"

    @property
    def straight(self) -> bool:
        """Whether it changes nothing."""
        return not self.enabled or (self.mode == "parametric" and not (self.shoulder or self.toe))
