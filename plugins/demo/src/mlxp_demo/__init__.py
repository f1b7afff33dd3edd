"""A very small model that really answers, and the reference ``demo`` for it."""
