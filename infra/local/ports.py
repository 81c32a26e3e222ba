"""Ports on the loopback interface."""

import secrets
import socket
from contextlib import suppress

FIRST, LAST = 20_000, 32_000
"""Below the range of outgoing connections, so that no connection takes a port before its server listens on it."""


def free_port() -> int:
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", FIRST + secrets.randbelow(LAST - FIRST)))
            return probe.getsockname()[1]


def listens(port: int) -> bool:
    """True if a server listens on the port. When polling a free port, the kernel may choose that very port as the
    source and connect the socket to itself."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        return connection.getsockname() != connection.getpeername()
    return False
