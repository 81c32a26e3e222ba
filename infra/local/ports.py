"""Ports of this machine's loopback."""

import secrets
import socket
from contextlib import suppress

FIRST, LAST = 20_000, 32_000
"""Below those from which a system asks others, so that no connection takes one before its server listens there."""


def free_port() -> int:
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", FIRST + secrets.randbelow(LAST - FIRST)))
            return probe.getsockname()[1]


def listens(port: int) -> bool:
    """Whether somebody does. Who asks for long enough where nobody does is given that very port to ask from, and is
    then connected to itself."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        return connection.getsockname() != connection.getpeername()
    return False
