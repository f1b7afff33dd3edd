"""Gemma 3 (text) for mlxp."""
