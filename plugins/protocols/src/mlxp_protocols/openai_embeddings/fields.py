"""What becomes of every field of an embeddings request, as data; shown at ``GET /v1``."""

from mlxp_core.contracts import RequestField

FIELDS = (
    RequestField(
        "input", "honoured", "a text, texts, token ids, or lists of token ids; up to 2048", "embeddings"
    ),
    RequestField("model", "honoured", "absent: the default model"),
    RequestField("encoding_format", "honoured", "float or base64"),
    RequestField("dimensions", "honoured", "the first numbers of each vector, brought to length 1 again"),
    RequestField("user", "accepted"),
)

HINTS = {
    "input": "send a text, a list of up to 2048 texts, token ids, or a list of lists of token ids; none of them empty",
    "input[]": "send a text, token ids, or a list of either; none of them empty",
    "encoding_format": "use float or base64",
}

NAMES = {"inputs": "input"}
"""Field of a question -> what this surface calls it, where that differs."""
