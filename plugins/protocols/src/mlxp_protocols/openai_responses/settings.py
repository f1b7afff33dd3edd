"""``[openai-responses]`` of mlxp.toml."""

from msgspec import Struct


class ResponsesSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long responses are kept for ``previous_response_id``.

    Attributes:
        keep_s: seconds from its creation that a response can be asked for.
        keep_bytes: most bytes of all responses that are kept, with the conversations behind them.
    """

    keep_s: float = 3600.0
    keep_bytes: int = 32 * 2**20
