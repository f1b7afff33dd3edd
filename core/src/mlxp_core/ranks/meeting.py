"""How ranks meet at the start: who they are, whether they go together, and the lines between them."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Mapping, Sequence
from importlib.metadata import version

import msgspec
from msgspec import Struct

from mlxp_core import __version__
from mlxp_core.errors import SetupError
from mlxp_core.ranks.group import Group, join_group
from mlxp_core.ranks.launch import Launch
from mlxp_core.ranks.lines import SECRET_BYTES, FollowersLine, LeadersLine, accept, connect, listen
from mlxp_core.types import Machine


class Hello(Struct, frozen=True, kw_only=True):
    """What a rank says of itself.

    Attributes:
        mlxp, mlx: versions.
        backend: kind of device.
        host: the computer it is on.
        usable_bytes: memory that it has to spare for models.
        port, secret: of the first rank, for the others to connect.
    """

    mlxp: str = __version__
    mlx: str = ""
    backend: str
    host: str
    usable_bytes: int
    port: int = 0
    secret: str = ""


class Meeting(Struct, frozen=True, eq=False, kw_only=True):
    """The ranks, once they have met.

    Attributes:
        group: all of them.
        usable_bytes: memory that each of them has to spare for its part.
        lines: of the first rank, to the others by their number.
        line: of another rank, to the first.
    """

    group: Group
    usable_bytes: int
    lines: Mapping[int, LeadersLine]
    line: FollowersLine | None = None


def meet(launch: Launch, machine: Machine) -> Meeting:
    """Meet the other ranks; waits for them.

    Raises:
        SetupError: they do not come, or do not go together.
    """
    group = join_group(launch)
    hello = Hello(
        mlx=version("mlx"),
        backend=machine.backend,
        host=socket.gethostname(),
        usable_bytes=machine.usable_bytes,
    )
    if launch.leads:
        with listen(launch.address) as listener:
            secret = secrets.token_bytes(SECRET_BYTES)
            port = listener.getsockname()[1]
            hellos = _exchanged(group, msgspec.structs.replace(hello, port=port, secret=secret.hex()))
            lines = accept(listener, secret, launch.ranks)
        return Meeting(group=group, usable_bytes=fair_share(hellos), lines=lines)
    hellos = _exchanged(group, hello)
    first = hellos[0]
    line = connect(launch.address, first.port, bytes.fromhex(first.secret), launch.rank)
    return Meeting(group=group, usable_bytes=fair_share(hellos), lines={}, line=line)


def fair_share(hellos: Sequence[Hello]) -> int:
    """Return the bytes that every rank has to spare: ranks on one computer share its memory, unless each has a GPU."""
    hosts = [hello.host for hello in hellos]
    return min(
        hello.usable_bytes // (1 if hello.backend == "cuda" else hosts.count(hello.host)) for hello in hellos
    )


def check_alike(hellos: Sequence[Hello]) -> None:
    """Make sure that ranks run the same programs on the same kind of device.

    Raises:
        SetupError: they do not.
    """
    first = hellos[0]
    for rank, hello in enumerate(hellos):
        for what in ("mlxp", "mlx", "backend"):
            mine, other = getattr(first, what), getattr(hello, what)
            if mine != other:
                raise SetupError(f"rank {rank} has {what} {other}, rank 0 has {mine}; all must have the same")


def _exchanged(group: Group, hello: Hello) -> list[Hello]:
    hellos = [msgspec.json.decode(said, type=Hello) for said in group.exchange(msgspec.json.encode(hello))]
    check_alike(hellos)
    return hellos
