"""Whether this process is one of several that ``mlx.launch`` has started, read from what it leaves behind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from mlxp_core.errors import SetupError

Backend = Literal["ring", "nccl", "jaccl"]


class Launch(Struct, frozen=True):
    """One of several processes.

    Attributes:
        backend: what MLX sums over.
        rank: number of this process; the first one serves.
        ranks: how many there are.
        address: host name or IP of the first one, as the others reach it.
    """

    backend: Backend
    rank: int
    ranks: int
    address: str

    @property
    def leads(self) -> bool:
        """Say whether this is the process that serves."""
        return self.rank == 0


def launched(environ: Mapping[str, str]) -> Launch | None:
    """Return which process this is; ``None`` = it is alone.

    Args:
        environ: the environment; ``mlx.launch`` sets ``MLX_RANK``, and what its back end needs.

    Raises:
        SetupError: what was set is incomplete, or a file that it names is unreadable.
    """
    if "MLX_RANK" not in environ:
        return None
    try:
        launch = _launch(environ, int(environ["MLX_RANK"]))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise SetupError(
            f"MLX_RANK is set, but what belongs to it is not as mlx.launch sets it: {error}"
        ) from error
    if launch is not None and not 0 <= launch.rank < launch.ranks:
        raise SetupError(f"MLX_RANK is {launch.rank}, and there are {launch.ranks} ranks")
    return None if launch is None or launch.ranks == 1 else launch


def _launch(environ: Mapping[str, str], rank: int) -> Launch | None:
    match environ:
        case {"MLX_IBV_DEVICES": devices, "MLX_JACCL_COORDINATOR": coordinator}:
            return Launch("jaccl", rank, len(_listed(devices)), _host(coordinator))
        case {"MLX_WORLD_SIZE": size, "NCCL_HOST_IP": address}:
            return Launch("nccl", rank, int(size), address)
        case {"MLX_HOSTFILE": hosts}:
            listed = _listed(hosts)
            return Launch("ring", rank, len(listed), _host(listed[0][0])) if listed else None
        case _:
            raise SetupError(
                "MLX_RANK is set, but none of MLX_HOSTFILE, MLX_WORLD_SIZE with NCCL_HOST_IP, or MLX_IBV_DEVICES with "
                "MLX_JACCL_COORDINATOR; start several ranks with mlx.launch, by the ring, nccl or jaccl back end"
            )


def _listed(path: str) -> list[list[str]]:
    """Return the list in a JSON file, one entry a rank; where there is one rank, ``mlx.launch`` leaves it empty."""
    text = Path(path).read_text(encoding="utf-8").strip()
    listed = json.loads(text) if text else []
    if not isinstance(listed, list):
        raise TypeError(f"{path} holds no list")
    return listed


def _host(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")
