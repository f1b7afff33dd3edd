"""Adapters as files: where they are, and the two forms they are written in."""
