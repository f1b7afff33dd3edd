"""The one random number of a row and a step: a counter, hashed. No arrays, no state."""

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def step_seed(seed: int, step: int) -> int:
    """Return the 64-bit number that step ``step`` (0 = the first token) of a row seeded ``seed`` starts from."""
    return (seed & _MASK) ^ ((step + 1) * _GOLDEN & _MASK)


def uniform(seed: int, step: int) -> float:
    """Return the row's number for a step: a multiple of 2**-24 in ``[0, 1)``, exact in float32.

    The finalizer of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014)
    over ``step_seed``; its upper 24 bits are kept.

    Args:
        seed: any integer; taken modulo 2**64.
        step: tokens drawn before this one.
    """
    z = step_seed(seed, step)
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return ((z ^ z >> 31) >> 40) * 2.0**-24
