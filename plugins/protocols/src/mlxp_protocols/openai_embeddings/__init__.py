"""OpenAI's embeddings: ``POST /v1/embeddings``."""
