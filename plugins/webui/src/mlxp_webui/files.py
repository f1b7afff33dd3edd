"""Files of a folder as responses: their type, whether they may be kept, and what the browser may do with them."""

import gzip
import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path

from litestar import Response

from mlxp_core.errors import NotFound

FOREVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"

TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
"""What a machine's own table may say otherwise."""

SOURCES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "dompurify",
}
"""What a page of the app may load and do. Text becomes markup through the sanitizer alone."""

HEADERS = {
    "content-security-policy": "; ".join(f"{what} {where}" for what, where in SOURCES.items()),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}

WORTH_PACKING = 1024


def response(folder: Path, name: str, *, keep: str, asked: dict[str, str]) -> Response[bytes]:
    """Return a file, packed where the browser can unpack it, or a 304 where it has it already.

    Args:
        folder: nothing outside it is read.
        name: of the file, with slashes.
        keep: its ``Cache-Control``.
        asked: the request's headers, in lower case.

    Raises:
        NotFound: there is no such file in the folder.
    """
    path = _inside(folder.resolve(), name)
    if path is None or not path.is_file():
        raise NotFound(f"there is no file {name!r} here")
    told = path.stat()
    body, packed, tag = _read(path, told.st_mtime_ns, told.st_size)
    headers = {**HEADERS, "cache-control": keep, "etag": tag, "vary": "accept-encoding"}
    if tag in asked.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers, media_type=_type(path))
    if packed is not None and "gzip" in asked.get("accept-encoding", ""):
        body, headers = packed, {**headers, "content-encoding": "gzip"}
    return Response(body, headers=headers, media_type=_type(path))


def _inside(folder: Path, name: str) -> Path | None:
    try:
        path = (folder / name.lstrip("/")).resolve()
    except ValueError:  # a name that no file can have
        return None
    return path if path.is_relative_to(folder) else None


@lru_cache(maxsize=256)
def _read(path: Path, changed_ns: int, size: int) -> tuple[bytes, bytes | None, str]:  # noqa: ARG001  # keys of the cache
    """Return a file as it is, packed if that is worth it, and a tag of what is in it."""
    body = path.read_bytes()
    packed = gzip.compress(body, mtime=0) if len(body) >= WORTH_PACKING else None
    smaller = packed is not None and len(packed) < len(body)
    return body, packed if smaller else None, f'"{hashlib.sha256(body).hexdigest()[:20]}"'


def _type(path: Path) -> str:
    return TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
