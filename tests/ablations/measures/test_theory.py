"""Gradient flow at initialization against what theory predicts of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ablations.measures.gradient_flow import GradientFlow
from ablations.trial import Measurement, Trial, TrialContext
from tests.ablations.decoders import small


def flow(seed: int, batch: int = 2, **model: Any) -> Measurement:
    trial = Trial(cell="", seed=seed, architecture=small(**model), measures=())
    return GradientFlow(batch=batch).measure(TrialContext(trial))


def test_the_raw_ratio_measures_the_embedding_scale() -> None:
    """Depth 12: the sensitivity is kept, whatever units the stream is in."""
    model = {"depth": 12, "d_model": 256, "context": 64, "vocab_size": 256}
    means = {}
    for scale in (0.02, 1.0):
        scaled = {**model, "initializer": {"normal": {"embedding_std": scale}}}
        runs = [flow(seed, **scaled).metrics for seed in range(3)]
        for name in ("sensitivity_ratio", "raw_ratio"):
            means[name, scale] = np.mean([run[name] for run in runs])
    assert 0.9 < means["sensitivity_ratio", 0.02] < 1.1
    assert 0.9 < means["sensitivity_ratio", 1.0] < 1.1
    assert means["raw_ratio", 0.02] > 10 * means["raw_ratio", 1.0]


@pytest.mark.parametrize(
    ("weights", "scale", "placement", "low", "high"),
    [
        ("xavier", 0.02, "post", -0.1, 0.1),
        ("xavier", 1.0, "post", -0.1, 0.1),
        ("normal", 0.02, "post", -0.1, 0.1),
        ("normal", 1.0, "post", -0.1, 0.1),
        ("xavier", 0.02, "pre", -0.70, -0.45),
        ("xavier", 1.0, "pre", -0.55, -0.25),
        ("normal", 0.02, "pre", -0.70, -0.45),
        ("normal", 1.0, "pre", -0.1, 0.1),
    ],
)
def test_the_last_down_projection_against_depth(
    weights: str, scale: float, placement: str, low: float, high: float
) -> None:
    """Independent of depth behind post, depth^(−1/2) behind pre (arXiv:2002.04745).

    Not so where the branches are tiny beside the embeddings, which then decide what the stream is.
    """
    depths = (2, 4, 8, 16, 32)
    model = {"d_model": 128, "context": 32, "vocab_size": 256}
    model |= {"initializer": {weights: {"embedding_std": scale}}, "placement": placement}
    norms = []
    for depth in depths:
        runs = [flow(seed, batch=4, depth=depth, **model) for seed in range(3)]
        norms.append(np.mean([run.profiles["down_gradient_norm"].values[-1] for run in runs]))
    slope = np.polyfit(np.log(depths), np.log(norms), 1)[0]
    assert low < slope < high
