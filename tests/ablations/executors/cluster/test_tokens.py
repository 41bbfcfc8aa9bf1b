"""What a cluster is asked before it is joined; a gRPC server answers as Ray's do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest

from ablations.executors.cluster.tokens import asked, mode_kept, send_where_asked
from ablations.executors.errors import ExecutorError

HEAD = "/ray.rpc.NodeInfoGcsService/CheckAlive"
CLIENT = "/ray.rpc.RayletDriver/KVExists"


class Server(grpc.GenericRpcHandler):
    """The head of a cluster, or its server of clients, that asks for a token or for none."""

    def __init__(self) -> None:
        self.method = HEAD
        self.token = ""
        self.calls = 0

    def service(self, details: Any) -> Any:
        return (
            grpc.unary_unary_rpc_method_handler(self._call)
            if details.method == self.method
            else None
        )

    def _call(self, request: bytes, context: Any) -> bytes:
        self.calls += 1
        told = dict(context.invocation_metadata()).get("authorization")
        if self.token and told != f"Bearer {self.token}":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken")
        if self.method == CLIENT:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no client")
        return b""


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def address(server: Server) -> Iterator[str]:
    found = grpc.server(futures.ThreadPoolExecutor(1), handlers=[server])
    port = found.add_insecure_port("127.0.0.1:0")
    found.start()
    yield f"127.0.0.1:{port}"
    found.stop(None)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "RAY_AUTH_MODE",
        "RAY_AUTH_TOKEN",
        "RAY_AUTH_TOKEN_PATH",
        "RAY_ENABLE_K8S_TOKEN_AUTH",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write(home: Path, token: str) -> None:
    (home / ".ray").mkdir()
    (home / ".ray" / "auth_token").write_text(f"{token}\n", encoding="utf-8")


def test_a_cluster_that_asks_for_no_token_is_sent_none(
    server: Server, address: str, home: Path
) -> None:
    write(home, "secret")
    with mode_kept():
        send_where_asked(address)
        assert "RAY_AUTH_MODE" not in os.environ
    assert server.calls == 1


def test_one_that_asks_is_sent_what_is_here_and_the_mode_is_put_back(
    server: Server, address: str, home: Path
) -> None:
    server.token = "secret"
    write(home, "secret")
    with mode_kept():
        send_where_asked(address)
        assert os.environ["RAY_AUTH_MODE"] == "token"
    assert "RAY_AUTH_MODE" not in os.environ


@pytest.mark.parametrize("mode", ["token", "TOKEN"])
def test_a_mode_that_is_given_stays(
    server: Server, address: str, home: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    server.token = "secret"
    write(home, "secret")
    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    with mode_kept():
        send_where_asked(address)
        assert os.environ["RAY_AUTH_MODE"] == mode
    assert os.environ["RAY_AUTH_MODE"] == mode


@pytest.mark.parametrize("where", ["RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"])
def test_the_token_is_read_where_ray_reads_it(
    server: Server, address: str, home: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    server.token = "secret"
    write(home, "of another cluster")
    (home / "mine").write_text("secret", encoding="utf-8")
    told = "secret" if where == "RAY_AUTH_TOKEN" else str(home / "mine")
    monkeypatch.setenv(where, told)
    assert asked(address)


def test_without_a_token_it_is_told_what_to_do(server: Server, address: str) -> None:
    server.token = "secret"
    with pytest.raises(ExecutorError) as raised:
        asked(address)
    assert str(raised.value) == (
        f"the Ray cluster at '{address}' asks for a token, and there is none in ~/.ray/auth_token: "
        "copy ~/.ray/auth_token from a machine of the cluster, or say where it is "
        "(RAY_AUTH_TOKEN_PATH)"
    )


def test_another_token_is_refused_with_where_it_is_from(
    server: Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.token = "secret"
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of another cluster")
    with pytest.raises(ExecutorError) as raised:
        asked(address)
    assert str(raised.value) == (
        f"the Ray cluster at '{address}' asks for another token than that of RAY_AUTH_TOKEN: copy "
        "~/.ray/auth_token from a machine of the cluster, or say where it is (RAY_AUTH_TOKEN_PATH)"
    )


def test_a_mode_that_sends_none_is_named(
    server: Server, address: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.token = "secret"
    write(home, "secret")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(ExecutorError) as raised:
        asked(address)
    assert str(raised.value) == (
        f"the Ray cluster at '{address}' asks for a token, and RAY_AUTH_MODE=disabled has none "
        "sent: unset it"
    )


def test_a_mode_under_which_an_open_cluster_could_run_nothing_is_named(
    server: Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    with pytest.raises(ExecutorError) as raised:
        asked(address)
    assert str(raised.value) == (
        f"the Ray cluster at '{address}' asks for no token, and with RAY_AUTH_MODE=token this "
        "process would refuse its calls, which have none: unset it"
    )


def test_where_kubernetes_gives_the_token_it_is_not_looked_for(
    server: Server, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.token = "secret"
    monkeypatch.setenv("RAY_ENABLE_K8S_TOKEN_AUTH", "true")
    assert asked(address)


def test_a_server_of_clients_is_asked_too_and_calls_nobody(
    server: Server, address: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.method = CLIENT
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    assert not asked(f"ray://{address}")
    server.token = "secret"
    write(home, "secret")
    assert asked(f"ray://{address}")
    assert server.calls == 3


def test_the_one_in_the_place_of_the_other_is_told(server: Server, address: str) -> None:
    with pytest.raises(ExecutorError) as raised:
        asked(f"ray://{address}")
    assert str(raised.value) == (
        f"what answers at 'ray://{address}' is not the server of Ray's clients, which is at port "
        "10001 of the head unless it was told another"
    )
    server.method = CLIENT
    with pytest.raises(ExecutorError) as raised:
        asked(address)
    assert str(raised.value) == (
        f"what answers at '{address}' is not what nodes of a Ray cluster join, which is at port "
        "6379 of the head unless it was told another (port 10001 is for ray://HOST:10001)"
    )
