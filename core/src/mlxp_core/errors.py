"""One tree of errors, each with an HTTP status and a stable code.

Protocols render these in their own shape; nothing here knows any protocol. The message says what was wrong, where,
and what to do about it.
"""

from typing import ClassVar


class MlxpError(Exception):
    """The root: every error we raise on purpose.

    Attributes:
        status: the HTTP status that fits.
        code: a stable machine-readable word.
        param: the request field at fault, when there is one.
        headers: extra response headers, such as ``Retry-After``.
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"

    def __init__(
        self, message: str, *, param: str | None = None, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """Keep the message and, where it applies, the field at fault."""
        super().__init__(message)
        self.message = message
        self.param = param
        self.headers = headers


class BadRequest(MlxpError):
    """The request is malformed or asks for something we refuse by name."""

    status = 400
    code = "invalid_request"


class ContextOverflow(BadRequest):
    """Prompt and answer do not fit the model's own context window."""

    code = "context_length_exceeded"


class OverBudget(BadRequest):
    """The request can never fit this machine's memory budget."""

    code = "context_over_budget"


class BadAdapter(BadRequest):
    """An adapter cannot be mounted: its files are damaged, of a kind we do not have, or do not fit the model."""

    code = "bad_adapter"


class Unauthorized(MlxpError):
    """The API key is missing or wrong."""

    status = 401
    code = "invalid_api_key"


class Forbidden(MlxpError):
    """The request comes from a host or origin that is not allowed."""

    status = 403
    code = "forbidden"


class NotFound(MlxpError):
    """No such path."""

    status = 404
    code = "not_found"


class UnknownModel(NotFound):
    """No such model or adapter is on offer."""

    code = "model_not_found"


class UnknownAdapter(NotFound):
    """No adapter of that id is mounted."""

    code = "adapter_not_found"


class MethodNotAllowed(MlxpError):
    """The path exists, the method does not."""

    status = 405
    code = "method_not_allowed"


class Conflict(MlxpError):
    """What is asked for contradicts something that is there."""

    status = 409
    code = "conflict"


class TooLarge(MlxpError):
    """The body is over the limit."""

    status = 413
    code = "request_too_large"


class Busy(MlxpError):
    """The queue is full; try again after the time in ``Retry-After``."""

    status = 429
    code = "rate_limit_exceeded"


class EngineFault(MlxpError):
    """A fault of ours while generating; the request may be tried again."""

    status = 500
    code = "engine_fault"


class Unavailable(MlxpError):
    """The engine is loading, stopping or lost."""

    status = 503
    code = "unavailable"


def of_code(code: str) -> type[MlxpError]:
    """Return the error whose ``code`` this is, such as that of a ``Failed`` event; ``EngineFault`` if none is."""
    kinds: list[type[MlxpError]] = [MlxpError]
    for kind in kinds:  # grows while it is walked
        if kind.code == code:
            return kind
        kinds += kind.__subclasses__()
    return EngineFault


class SetupError(MlxpError):
    """Something is wrong before serving starts: a plugin, a setting, a file. Shown on the command line."""

    code = "setup_error"


class PluginError(SetupError):
    """A plugin cannot be loaded, clashes with another, or breaks its contract."""

    code = "plugin_error"


class SettingsError(SetupError):
    """A setting is unknown or has the wrong type."""

    code = "settings_error"


class ModelFolderError(SetupError):
    """A model folder is incomplete, damaged or inconsistent."""

    code = "model_folder_error"


class ModelTooLarge(SetupError):
    """A model and a single answer do not fit the memory budget."""

    code = "model_too_large"


class UnsupportedModel(ModelFolderError):
    """No plugin claims the model, or its family refuses the configuration."""

    code = "unsupported_model"
