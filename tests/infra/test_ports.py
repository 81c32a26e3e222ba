import socket

import pytest

from infra.local.ports import free_port, listens


def test_a_port_with_a_listener_is_in_use():
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert listens(server.getsockname()[1])


def test_a_port_without_a_listener_is_free():
    assert not listens(free_port())


def test_a_connection_to_itself_is_no_listener(monkeypatch: pytest.MonkeyPatch):
    port = free_port()
    connect = socket.create_connection

    def as_the_system_chooses_now_and_then(address: tuple[str, int], timeout: float) -> socket.socket:
        return connect(address, timeout, source_address=address)

    monkeypatch.setattr("socket.create_connection", as_the_system_chooses_now_and_then)
    assert not listens(port)
