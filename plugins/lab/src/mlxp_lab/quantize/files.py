"""Names of what is written beside a model that was packed."""

REPORT = "mlxp_quantization.json"
"""How it was packed, and what that did to it; for programs."""

PAGE = "quantization.md"
"""The same for people."""
