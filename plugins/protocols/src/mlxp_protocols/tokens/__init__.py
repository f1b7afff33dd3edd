"""Text and tokens: ``POST /tokenize``, ``/detokenize`` and ``/render``, also under ``/v1``."""
