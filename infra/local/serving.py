"""Serve our own parts of the stack quietly on loopback, with a plain error message if the port is taken."""

import errno
import socket
import sys

import uvicorn
from starlette.types import ASGIApp


def serve(app: ASGIApp, port: int) -> None:
    """Serve until SIGINT or SIGTERM."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listen(port)])


def listen(port: int, advice: str = "") -> socket.socket:
    """Return a listening socket. If the port is taken, exit with a sentence and the advice."""
    # If the protocol is named, asyncio sets TCP_NODELAY; otherwise each answer on a reused connection waits 40 ms for
    # an ACK.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        sys.exit(f"Port {port} is taken by another program. {advice}".strip())
    return listening
