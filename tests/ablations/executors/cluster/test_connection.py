"""Joining a cluster: what is told where there is none."""

from __future__ import annotations

import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from ablations.executors.cluster.connection import capacity, in_words, joined
from ablations.executors.errors import ExecutorError
from registry.errors import MissingExtra


@pytest.fixture
def nobody() -> str:
    """An address of this machine at which nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


HELP = (
    "start one (`ray start --head`), give its --address, or `--address local` for one on this "
    "machine"
)


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_where_nobody_answers_it_is_told_how_to_get_a_cluster(nobody: str, scheme: str) -> None:
    with pytest.raises(ExecutorError) as raised, joined(f"{scheme}{nobody}"):
        pass
    assert str(raised.value) == (
        f"no Ray cluster can be joined at '{scheme}{nobody}' (ConnectionRefusedError: [Errno 111] "
        f"Connection refused): {HELP}"
    )


def test_an_address_of_rays_client_needs_a_port() -> None:
    with pytest.raises(ExecutorError) as raised, joined("ray://localhost"):
        pass
    assert str(raised.value) == (
        "no Ray cluster can be joined at 'ray://localhost' (ValueError: expected ray://HOST:PORT, "
        f"where PORT is mostly 10001): {HELP}"
    )


def test_auto_is_what_ray_is_told_by_its_variable(
    nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", nobody)
    words = r"^no Ray cluster can be joined at 'auto' \(Conn"
    with pytest.raises(ExecutorError, match=words), joined("auto"):
        pass


def test_without_ray_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra) as raised, joined("auto"):
        pass
    assert str(raised.value) == (
        "executor 'ray' needs Ray, which does not load (ModuleNotFoundError: import of ray halted; "
        "None in sys.modules): python -m pip install 'ablations[ray]'"
    )


def test_a_cluster_that_is_joined_is_taken_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    context = SimpleNamespace(gcs_address="10.0.0.1:6379")
    ray: Any = SimpleNamespace(
        is_initialized=lambda: True, get_runtime_context=lambda: context, shutdown=pytest.fail
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    for address in ("auto", "10.0.0.1:6379"):
        with joined(address) as found:
            assert found is ray
    with pytest.raises(ExecutorError) as raised, joined("10.0.0.2:6379"):
        pass
    assert str(raised.value) == (
        "this process has joined the Ray cluster at 10.0.0.1:6379 already, and cannot join "
        "'10.0.0.2:6379' beside it: leave it (`ray.shutdown()`), or give no address"
    )


def test_a_ray_that_finds_its_cluster_in_another_way_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joined_at: list[str] = []
    ray: Any = SimpleNamespace(
        is_initialized=lambda: False,
        init=lambda *, address, **options: joined_at.append(address),
        shutdown=lambda: None,
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray._private.services", None)
    monkeypatch.setattr("ablations.executors.cluster.tokens.read_again", lambda: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with joined("auto"):
        assert joined_at == ["auto"]


def cluster_of(*nodes: dict[str, float], dead: dict[str, float] | None = None) -> Any:
    found = [{"Alive": True, "Resources": resources} for resources in nodes]
    if dead:
        found.append({"Alive": False, "Resources": dead})
    return SimpleNamespace(nodes=lambda: found)


def test_as_many_trials_fit_as_nodes_have_room_for_each() -> None:
    node = {"CPU": 8.0, "GPU": 2.0, "memory": 40.0}
    ray = cluster_of(node, {"CPU": 3.0, "memory": 100.0}, dead=node)
    assert capacity(ray, {"CPU": 1, "GPU": 0, "memory": 0}) == 11
    assert capacity(ray, {"CPU": 2, "GPU": 0, "memory": 0}) == 4 + 1
    assert capacity(ray, {"CPU": 1, "GPU": 0.5, "memory": 0}) == 4
    assert capacity(ray, {"CPU": 1, "GPU": 0.5, "memory": 15}) == 2
    assert in_words(ray) == "2 nodes, 11 CPUs, 2 GPUs"
    assert in_words(cluster_of({"CPU": 1.0, "GPU": 1.0})) == "1 node, 1 CPU, 1 GPU"
