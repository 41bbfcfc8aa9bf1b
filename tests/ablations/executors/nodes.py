"""A Ray cluster of several nodes on this machine, reachable from it alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ablations.executors.cluster.connection import load_ray

HERE = "127.0.0.2"
"""Loopback; in the place of 127.0.0.1 Ray would put an address that others can reach."""

SOON = {"health_check_period_ms": 500, "health_check_failure_threshold": 3}
"""A node that is lost is known to be after seconds, not after a quarter of a minute."""

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
