"""What a request may send of images."""

MOST_IMAGES = 16
"""In one request."""

MOST_BYTES = 20 * 2**20
"""Of one encoded image."""

MOST_PIXELS = 64_000_000
"""Of one decoded image; more is refused before it is decoded."""
