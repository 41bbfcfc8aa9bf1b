"""What is no evidence is said beside every effect that it enters, and leads nothing."""

from dataclasses import replace

import numpy as np
import pandas as pd

from reports import Frames, state_findings
from reports.cautions import cautions, joint_cautions
from reports.effects import comparisons
from reports.interactions import interaction_comparisons
from tests.reports.simulated import make_frames

FACTORS = {"position": ["learned", "rope"], "norm": ["a", "b"]}


def raw_run(raw: float, size: float) -> Frames:
    """`raw` and `size` are so many times as large under rope."""
    noise = np.exp(np.random.default_rng(0).normal(0, 0.002, size=(2, 4, 4)))
    rope = np.array([[0.0], [0.0], [1.0], [1.0]])
    frames = make_frames(
        FACTORS,
        {"raw": noise[0] * raw**rope, "size": noise[1] * size**rope},
        scale="log",
    )
    info = frames.metric_info
    sized = pd.Series(np.where(info["metric"] == "raw", "size", ""), dtype=object)
    return replace(frames, metric_info=info.assign(scales_with=sized))


def test_a_size_below_the_limit_that_may_be_much_of_an_effect_is_said() -> None:
    frames = raw_run(1.43, 1.43)
    said = cautions(frames, comparisons(frames))
    assert said == {("position", "rope", "raw"): "sizes differ 1.43 times, which may be much of it"}
    assert [f.kind for f in state_findings(frames) if f.metric == "raw" and f.factor] == ["effect"]


def test_a_size_that_is_little_of_an_effect_is_not() -> None:
    frames = raw_run(5.0, 1.43)
    assert cautions(frames, comparisons(frames)) == {}
    frames = raw_run(1.43, 1.001)
    assert cautions(frames, comparisons(frames)) == {}


def leaking() -> Frames:
    """Every model with rope reads the future."""
    noise = np.random.default_rng(1).normal(0, 0.1, size=(4, 4))
    frames = make_frames(FACTORS, {"x": noise + np.array([[0.0], [1.0], [3.0], [4.0]])})
    cells = frames.cells.loc[frames.cells["position"] == "rope", "cell"]
    marks = np.where(frames.trials["cell"].isin(cells), "leaks", "")
    return replace(frames, trials=frames.trials.assign(marks=marks))


def test_what_reads_the_future_leads_nothing_and_says_so() -> None:
    frames = leaking()
    table = comparisons(frames)
    assert cautions(frames, table) == {
        ("position", "rope", "x"): "a component reads the future: no evidence",
        ("norm", "b", "x"): "a component reads the future in 1 of 2 pairs: no evidence",
    }
    found = [f for f in state_findings(frames) if f.factor == "position"]
    assert [f.kind for f in found] == ["effect"]
    assert found[0].claim.endswith("; a component reads the future: no evidence")
    both = interaction_comparisons(frames)
    assert list(joint_cautions(frames, both).values()) == [
        "a component reads the future: no evidence"
    ]


def test_what_is_exact_is_evidence_all_the_same() -> None:
    frames = leaking()
    exact = replace(
        frames,
        metrics=frames.metrics.assign(value=1.0),
        metric_info=frames.metric_info.assign(exact=True),
    )
    assert cautions(exact, comparisons(exact)) == {}
