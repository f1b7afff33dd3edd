"""Sampler stages that bend the log-probabilities, endpoints to try them, and a page to draw them."""
