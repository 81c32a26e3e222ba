"""Ports of this machine's loopback."""

import secrets
import socket
from contextlib import suppress

FIRST, LAST = 20_000, 32_000
"""Below the range of outgoing connections, so that none takes a port before its server listens there."""


def free_port() -> int:
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", FIRST + secrets.randbelow(LAST - FIRST)))
            return probe.getsockname()[1]


def listens(port: int) -> bool:
    """Return True if a server listens there. Polling a free port long enough may pick that very port as the source, and
    connect to itself."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        return connection.getsockname() != connection.getpeername()
    return False
