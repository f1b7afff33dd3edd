"""Addresses for ranks of tests, and how long they are waited for."""

import os
import sys

PATIENCE_S = 60


def hosts_of_our_own(ranks, first=20000):
    """Return hosts of a ring that no other process uses: on Linux, every number behind 127 is this machine."""
    pid = os.getpid()
    linux = f"127.{pid // 65536 % 64 + 64}.{pid // 256 % 256}.{pid % 254 + 1}"
    host = linux if sys.platform == "linux" else "127.0.0.1"
    return [[f"{host}:{first + pid % 2500 + rank}"] for rank in range(ranks)]
