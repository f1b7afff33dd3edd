"""What the hub refuses, said with what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from mlxp_core.errors import SetupError
from mlxp_hub.refs import Ref


class HubError(SetupError):
    """A model cannot be fetched."""

    code = "hub_error"


_QUERY = re.compile(r"(https?://[^\s?'\"<>]+)\?[^\s'\"<>]*")

LOGIN = "log in with `hf auth login`, or set HF_TOKEN or [hub] token"


@contextmanager
def said_plainly(ref: Ref, endpoint: str) -> Iterator[None]:
    """Turn what huggingface-hub and its HTTP client raise into a ``HubError``.

    Args:
        ref: what is asked for.
        endpoint: address of the hub.

    Raises:
        HubError: what went wrong, and what to do.
    """
    try:
        yield
    except GatedRepoError as error:  # before its base, a repository that is not found
        raise HubError(
            f"{ref.repo} is gated: accept its terms at {endpoint}/{ref.repo}, then {LOGIN}"
        ) from error
    except DisabledRepoError as error:
        raise HubError(f"{ref.repo} has been disabled by its author; choose another model") from error
    except RepositoryNotFoundError as error:
        raise HubError(
            f"{endpoint} has no model {ref.repo}; check the name, or, if the model is private, {LOGIN}"
        ) from error
    except RevisionNotFoundError as error:
        raise HubError(
            f"{ref.repo} has no revision {ref.revision!r}; see {endpoint}/{ref.repo}/tree/main"
        ) from error
    except HfHubHTTPError as error:
        raise HubError(f"{endpoint} answers for {ref.repo}: {_short(error)}; try again later") from error
    except OfflineModeIsEnabled as error:
        raise HubError(f"{ref.repo} cannot be fetched: HF_HUB_OFFLINE is set; unset it") from error
    except httpx2.HTTPError as error:
        raise HubError(
            f"{endpoint} cannot be reached ({_short(error)}); check the network, then run the same again"
        ) from error


@contextmanager
def pushed_plainly(repo: str, endpoint: str) -> Iterator[None]:
    """Turn what huggingface-hub and its HTTP client raise while something is pushed into a ``HubError``.

    Args:
        repo: where to.
        endpoint: address of the hub.

    Raises:
        HubError: what went wrong, and what to do.
    """
    try:
        yield
    except OfflineModeIsEnabled as error:
        raise HubError(f"{repo} cannot be pushed: HF_HUB_OFFLINE is set; unset it") from error
    except HfHubHTTPError as error:
        raise HubError(f"{endpoint} refuses {repo}: {_short(error)}{_hint(error)}") from error
    except httpx2.HTTPError as error:
        raise HubError(
            f"{endpoint} cannot be reached ({_short(error)}); check the network, then push the same again"
        ) from error


def _hint(error: HfHubHTTPError) -> str:
    match error.response.status_code:
        case 401:
            return f"; {LOGIN}"
        case 403 | 404:
            return "; does your token have the right to write there?"
        case _:
            return ""


def _short(error: Exception) -> str:
    first = next(iter(unsigned(str(error)).strip().splitlines()), "")
    return first or type(error).__name__


def unsigned(text: str) -> str:
    """Return a text whose addresses have no queries: those of files are signed, and open to whoever has them."""
    return _QUERY.sub(r"\1", text)
