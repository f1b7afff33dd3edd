"""OpenAI's text completions: ``POST /v1/completions``."""
