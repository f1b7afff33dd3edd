"""Garbage that is worth looking for: what held arrays."""

import gc


def collect_everywhere() -> None:
    """Collect garbage, also among what was frozen when the server had started; the rest of it is frozen again.

    Modules may refer to each other in a circle, and those of the start are among what no other collection looks at.
    """
    frozen = gc.get_freeze_count() > 0
    gc.unfreeze()
    gc.collect()
    if frozen:
        gc.freeze()
