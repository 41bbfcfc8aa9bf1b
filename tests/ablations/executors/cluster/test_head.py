"""Whether the head of a cluster is still there."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ablations.executors.cluster import head as module
from ablations.executors.cluster.head import Head, Lost


class Clock:
    """Time as it is told to pass."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def head(address: str, *, client: bool = False) -> Head:
    context = SimpleNamespace(gcs_address=address)
    through = SimpleNamespace(ray=SimpleNamespace(is_connected=lambda: client))
    ray: Any = SimpleNamespace(
        util=SimpleNamespace(client=through), get_runtime_context=lambda: context
    )
    return Head(ray)


def at(server: socket.socket) -> str:
    return f"127.0.0.1:{server.getsockname()[1]}"


def test_one_that_answers_is_not_lost(server: socket.socket, clock: Clock) -> None:
    found = head(at(server))
    for _ in range(20):
        clock.now += 20
        found.look()
    found.wait()


def test_one_that_does_not_answer_for_long_is_lost(server: socket.socket, clock: Clock) -> None:
    found = head(at(server))
    server.close()
    clock.now += 1000  # in which there was no need to look
    for _ in range(6):
        found.look()
        clock.now += 6
    with pytest.raises(Lost) as raised:
        found.look()
    assert str(raised.value) == (
        f"the Ray cluster is lost (nobody answers at {found._address}: [Errno 111] Connection "
        "refused); the trials left have not been run"
    )


def test_it_is_waited_for_as_long(server: socket.socket, clock: Clock) -> None:
    found = head(at(server))
    server.close()
    before = clock.now
    with pytest.raises(Lost):
        found.wait()
    assert 30 < clock.now - before < 33


def test_one_that_is_started_again_is_not_lost(server: socket.socket, clock: Clock) -> None:
    address = at(server)
    found = head(address)
    server.close()
    clock.now += 6
    found.look()
    host, port = address.split(":")
    with socket.create_server((host, int(port))):
        clock.now += 60
        found.look()
    clock.now += 6
    found.look()


def test_through_rays_client_nobody_is_looked_for(server: socket.socket, clock: Clock) -> None:
    found = head(at(server), client=True)
    server.close()
    clock.now += 6
    found.look()
    clock.now += 60
    found.look()
    found.wait()
