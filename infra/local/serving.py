"""Serve our own parts of the stack: on loopback, quietly, with one plain sentence if the port is taken."""

import errno
import socket
import sys

import uvicorn
from starlette.types import ASGIApp


def serve(app: ASGIApp, port: int) -> None:
    """Until SIGINT or SIGTERM."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listen(port)])


def listen(port: int, advice: str = "") -> socket.socket:
    """End the process with a sentence and the advice if the port is taken."""
    # With the protocol named, asyncio sets TCP_NODELAY; else each answer on a kept connection waits 40 ms for an ACK.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        sys.exit(f"Port {port} is taken by another program. {advice}".strip())
    return listening
