"""Whether an adapter was trained on the model that it is to change, as far as names can tell.

Files name a base as they like: ``Org/Name``, a folder, a folder of the hub's cache. Conversions add words for how
numbers are stored, which change nothing that an adapter would notice.
"""

import re
from pathlib import Path, PurePosixPath

_HUB_FOLDER = re.compile(r"models--(?P<owner>[^/]+?)--(?P<name>[^/]+)")
_STORAGE = re.compile(
    r"[-_.](mlx|hf|\d+-?bits?|b?f16|fp16|fp?32|bfloat16|mxfp[48]|nvfp4|dwq|awq|gptq|q\d(_\w+)?|optiq)$"
)


def plain_name(recorded: str) -> str:
    """Return what a file calls its base, a folder of the hub's cache as ``ORG/NAME``."""
    found = _HUB_FOLDER.search(recorded)
    return f"{found['owner']}/{found['name']}" if found else recorded


def same_base(recorded: str, model: Path) -> bool:
    """Say whether a recorded base and the folder of a model have the same name.

    Args:
        recorded: what the adapter's configuration says.
        model: folder of the model that is served.
    """
    return _bare(plain_name(recorded)) == _bare(plain_name(str(model)))


def _bare(name: str) -> str:
    bare = PurePosixPath(name.strip().replace("\\", "/")).name.lower()
    while (shorter := _STORAGE.sub("", bare)) != bare:
        bare = shorter
    return bare
