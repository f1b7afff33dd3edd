"""Server-sent events as bytes."""

MEDIA_TYPE = "text/event-stream"

KEEP_ALIVE = b": keep-alive\n\n"
"""A comment; every client skips it, and it keeps proxies from closing a silent connection."""


def frame(data: bytes, event: str | None = None) -> bytes:
    """Return one event; ``data`` is a single line, as JSON without indentation always is."""
    if event is None:
        return b"data: " + data + b"\n\n"
    return b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"
