"""The Ray cluster: joined and left, and what its nodes have."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from ablations.amounts import in_words as amount
from ablations.executors.cluster import tokens
from ablations.executors.cluster.extra import of_the_extra
from ablations.executors.errors import ExecutorError
from registry.errors import describe

AUTO = "auto"
"""The address that stands for the cluster that this machine belongs to, or is told to join."""

LOCAL = "local"
"""The address that stands for a Ray of one's own on this machine, for as long as the run lasts."""

CONNECT_SECONDS = 5.0

Demand = Mapping[str, float]
"""What one trial takes of a node, by Ray's names: CPU, GPU, memory (bytes)."""


def load_ray() -> ModuleType:
    """Ray itself. Raises: MissingExtra."""
    # Ray would tell its makers of each cluster that it starts; whoever wants that says so.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # What Ray is going to do in any case; without it it warns of it.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    with of_the_extra():
        import ray
    return ray


@contextlib.contextmanager
def joined(address: str) -> Iterator[ModuleType]:
    """Ray, connected to the cluster at an address; one that is joined already is left joined.

    Raises: MissingExtra; ExecutorError where there is none, or where another one is joined.
    """
    if "ray" in sys.modules and load_ray().is_initialized():
        yield _joined_before(load_ray(), address)
        return
    with tokens.mode_kept():
        try:
            ray = _join(os.environ.get("RAY_ADDRESS", address) if address == AUTO else address)
        except ExecutorError:
            raise
        except (OSError, ImportError, ValueError, RuntimeError) as error:
            raise ExecutorError(
                f"no Ray cluster can be joined at {address!r} ({describe(error)}): start one "
                "(`ray start --head`), give its --address, or `--address local` for one on this "
                "machine"
            ) from error
        try:
            yield ray
        finally:
            with _own_handlers():
                ray.shutdown()


def _joined_before(ray: ModuleType, address: str) -> ModuleType:
    here = ray.get_runtime_context().gcs_address
    if address not in (AUTO, here):
        raise ExecutorError(
            f"this process has joined the Ray cluster at {here} already, and cannot join "
            f"{address!r} beside it: leave it (`ray.shutdown()`), or give no address"
        )
    return ray


def _join(address: str) -> ModuleType:
    was_loaded = "ray" in sys.modules
    own: dict[str, Any] = {}
    if address == LOCAL:
        own = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    elif address == AUTO:
        address = _found()
    else:
        _check_answers(address)
        tokens.send_where_asked(address)
    ray = load_ray()
    if was_loaded:
        tokens.read_again()
    with _own_handlers():
        ray.init(address=address, log_to_driver=False, logging_level="error", **own)
    return ray


def _found() -> str:
    """The address of this machine's cluster where it asks for no token, else AUTO.

    Ray sends to one that it finds itself what token it has, asked or not.
    """
    load_ray()
    try:
        from ray._private.services import canonicalize_bootstrap_address
    except ImportError:  # a Ray that looks for it in another way
        return AUTO
    address = canonicalize_bootstrap_address(AUTO)
    if address is None:
        return AUTO
    _check_answers(address)
    return AUTO if tokens.asked(address) else address


def _check_answers(address: str) -> None:
    """Find out within seconds that nobody answers; Ray would try for minutes.

    Raises: OSError; ValueError.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    elif address.startswith(tokens.CLIENT):
        raise ValueError(f"expected {tokens.CLIENT}HOST:PORT, where PORT is mostly 10001")


def capacity(ray: ModuleType, demand: Demand) -> int:
    """How many trials fit into the cluster as it is, were it empty."""
    return sum(
        min(int(resources.get(name, 0.0) / amount) for name, amount in demand.items() if amount)
        for resources in _resources(ray)
    )


def in_words(ray: ModuleType) -> str:
    """`3 nodes, 12 CPUs, 2 GPUs`."""
    nodes = list(_resources(ray))
    amounts = [f"{len(nodes)} node{'s' * (len(nodes) != 1)}"]
    for name in ("CPU", "GPU"):
        total = sum(resources.get(name, 0.0) for resources in nodes)
        if total or name == "CPU":
            amounts.append(f"{total:g} {name}{'s' * (total != 1)}")
    return ", ".join(amounts)


def taken(demand: Demand) -> str:
    """`1 CPU, 0.5 GPU and 4 GiB of memory`."""
    parts = [f"{demand['CPU']:g} CPU"]
    if demand["GPU"]:
        parts.append(f"{demand['GPU']:g} GPU")
    if demand["memory"]:
        parts.append(f"{amount(int(demand['memory']))} of memory")
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def node_name(ray: ModuleType, node: str) -> str:
    """A node as a person finds it: its address, and the first letters of Ray's name for it."""
    known = {one["NodeID"]: one["NodeManagerAddress"] for one in ray.nodes()}
    return f"{known[node]} ({node[:8]})" if node in known else node[:8] or "that has no name yet"


def is_alive(ray: ModuleType, node: str) -> bool:
    """Whether the cluster still counts on a node."""
    return any(one["NodeID"] == node and one["Alive"] for one in ray.nodes())


def _resources(ray: ModuleType) -> Iterator[dict[str, float]]:
    for node in ray.nodes():
        if node["Alive"]:
            yield node["Resources"]


@contextlib.contextmanager
def _own_handlers() -> Iterator[None]:
    """Keep this process' way of ending: Ray puts its own handler of SIGTERM in its place."""
    before: Any = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)
