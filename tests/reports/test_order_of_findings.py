"""What was measured stands before what was known, and what is no evidence last."""

import numpy as np

from reports import Frames, state_findings
from tests.reports.simulated import make_frames

GRID = {"norm": ["a", "b"], "size": ["1", "2"], "act": ["p", "q"]}
NOISE = np.random.default_rng(1).normal(0, 0.005, size=(8, 4))
CODES = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])


def run() -> Frames:
    """Of one metric that seeds change and one that none does every factor moves the second more."""
    measured = np.exp(CODES @ [0.5, 0.3, 0.2])[:, None] * np.exp(NOISE)
    counted = np.exp(CODES @ [0.9, 0.8, 0.7])[:, None] * np.ones((1, 4))
    return make_frames(GRID, {"count": counted, "loss": measured}, scale="log")


def order(beside: dict[tuple[str, str, str], str]) -> list[tuple[str, str | None, str | None]]:
    found = state_findings(run(), beside=beside)
    return [(f.kind, f.metric, f.factor) for f in found if f.kind in ("most", "effect")]


def test_exact_metrics_come_after_what_was_measured() -> None:
    assert order({}) == [
        ("most", "loss", "norm"),
        ("most", "count", "norm"),
        ("effect", "loss", "size"),
        ("effect", "loss", "act"),
        ("effect", "count", "size"),
        ("effect", "count", "act"),
    ]


def test_what_is_no_evidence_comes_last() -> None:
    beside = {
        ("norm", "b", "loss"): "sizes differ 2 times: not evidence of flow",
        ("size", "2", "loss"): "a component reads the future: no evidence",
    }
    assert order(beside) == [
        ("most", "count", "norm"),
        ("effect", "loss", "act"),
        ("effect", "count", "size"),
        ("effect", "count", "act"),
        ("effect", "loss", "norm"),
        ("effect", "loss", "size"),
    ]
