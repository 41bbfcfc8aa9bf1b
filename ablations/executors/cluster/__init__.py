"""The parts of the Ray executor: the cluster, a node of it, and what runs there."""
