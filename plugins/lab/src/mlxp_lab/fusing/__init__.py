"""Fusing: adapters become part of a model's own weights."""
