"""Ray clusters on this machine, reachable from it alone."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock

from ablations.executors.cluster.connection import load_ray
from tests.ablations.executors.watching import wait_for

HERE = "127.0.0.2"
"""Loopback; in the place of 127.0.0.1 Ray would put an address that others can reach."""

SOON = {"health_check_period_ms": 500, "health_check_failure_threshold": 12}
"""A node that is lost is known to be after 6 seconds, not after a quarter of a minute; one that a
busy machine keeps from answering is not taken for lost."""

OBJECT_STORE = 80 * 2**20


class Nodes:
    """A head that runs no trials, and nodes of one CPU each; this process has joined them."""

    def __init__(self, ray: Any, cluster: Any) -> None:
        self.ray = ray
        self._cluster = cluster

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self, **resources: Any) -> Any:
        given = {"num_cpus": 1, "object_store_memory": OBJECT_STORE, **resources}
        return self._cluster.add_node(node_ip_address=HERE, **given)

    def kill(self, node: Any) -> None:
        """As a machine that loses its power."""
        self._cluster.remove_node(node, allow_graceful=False)


@contextlib.contextmanager
def nodes(count: int) -> Iterator[Nodes]:
    ray = load_ray()
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    started = Nodes(ray, cluster)
    try:
        started.add(num_cpus=0, include_dashboard=False, _system_config=SOON)
        for _ in range(count):
            started.add()
        ray.init(
            address=cluster.address,
            log_to_driver=False,
            logging_level="error",
            _node_ip_address=HERE,
        )
        yield started
    finally:
        ray.shutdown()
        cluster.shutdown()


ALONE = FileLock(Path(tempfile.gettempdir()) / f"ray-clients-{os.getuid()}.lock")
"""Held by whoever has heads for clients here: two of them would give one port to their clients."""


class Started:
    """A cluster as a person starts one, by Ray's own command."""

    def __init__(self, process: subprocess.Popen[bytes], address: str, client: str) -> None:
        self.address = address
        self.client = client
        self._process = process

    def kill(self) -> None:
        """End it at once, as a machine that loses its power."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextlib.contextmanager
def started(home: Path) -> Iterator[Started]:
    """A head with two CPUs that asks for a token where there is one below `home`."""
    mode = "token" if (home / ".ray" / "auth_token").exists() else "disabled"
    own = {"HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path), "RAY_AUTH_MODE": mode}
    # Ray's sockets lie deep in its folder, and may not have long names.
    with ALONE, tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        gcs, client = _free_ports(2)
        command = [
            "ray", "start", "--head", "--block", f"--node-ip-address={HERE}", f"--port={gcs}",
            f"--ray-client-server-port={client}", "--num-cpus=2", "--include-dashboard=false",
            f"--object-store-memory={OBJECT_STORE}", f"--temp-dir={folder}",
        ]  # fmt: skip
        process = subprocess.Popen(
            command, env={**os.environ, **own}, stdout=log, stderr=log, start_new_session=True
        )
        found = Started(process, f"{HERE}:{gcs}", f"ray://{HERE}:{client}")
        try:
            wait_for(lambda: _listens(gcs) and _listens(client), seconds=120)
            yield found
        finally:
            found.kill()


def _free_ports(count: int) -> list[int]:
    """Ports outside those that Ray gives to its workers."""
    found = []
    for port in range(25_000, 30_000):
        with contextlib.suppress(OSError), socket.create_server((HERE, port)):
            found.append(port)
        if len(found) == count:
            return found
    raise AssertionError("no port is free")


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HERE, port), 1).close()
    except OSError:
        return False
    return True
