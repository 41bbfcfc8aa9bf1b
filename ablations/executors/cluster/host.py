"""The Ray actor that holds a share of a node.

It travels by value, unlike all other code of this package, so that a node without the package can
say so in words: nothing of it may be used here outside its methods.
"""

from __future__ import annotations

from typing import Any


def host_class() -> type:
    """The class of the actor; Ray sends what is defined inside a function whole."""

    class Host:
        """Holds a `Keeper`, once it has begun."""

        def begin(self, version: str, setup: bytes, cpus: float) -> tuple[str, str, Any]:
            """Prepare this node's part; its id, what it lacks, if anything, and what bends bits.

            `version` is that of this package. The node is shared by as many as have `cpus` each.
            """
            import importlib.metadata
            import pickle

            ray: Any = importlib.import_module("ray")
            node = ray.get_runtime_context().get_node_id()
            try:
                here = importlib.metadata.version("ablations")
            except importlib.metadata.PackageNotFoundError:
                here = "none"
            if here != version:
                return node, f"ablations {version} is needed, {here} is there", {}
            from ablations.executors.cluster import keeper

            (of_node,) = (one["Resources"] for one in ray.nodes() if one["NodeID"] == node)
            slots = max(1, int(of_node.get("CPU", 0) / cpus))
            try:
                asked = pickle.loads(setup)  # noqa: S301
                self._keeper: Any = keeper.begin(asked, slots)
            except keeper.NotMet as lacks:
                return node, str(lacks), {}
            return node, "", self._keeper.where(asked.device) if asked.device else {}

        def carry_out(self, number: int, packed: Any, needs: Any) -> Any:
            """Carry a trial out; its outcome, or what the node lacks for it."""
            from ablations.executors.cluster import keeper

            try:
                return self._keeper.carry_out(number, keeper.Packed(*packed), needs)
            except keeper.NotMet as lacks:
                return str(lacks)

        def stop(self) -> None:
            """End the trial and its process."""
            if hasattr(self, "_keeper"):
                self._keeper.stop()

    return Host
