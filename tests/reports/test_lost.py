"""What is said of effects that lost trials: one sentence a metric where there are many."""

import numpy as np
import pandas as pd
import pytest

from reports import Frames, state_findings
from reports.lost import lost_trials
from reports.panel import panel
from tests.reports.simulated import default_run, make_frames, set_state

FACTORS = {"norm": ["a", "b"], "size": ["1", "2", "3"]}


def undecided(frames: Frames) -> list[str]:
    return [f.text for f in state_findings(frames) if f.kind == "undecided"]


def test_one_crash_is_one_sentence_a_metric() -> None:
    frames = default_run()
    trials = frames.trials
    rows = (trials["cell"] == frames.cells["cell"].iloc[40]) & (trials["seed"] == 2)
    rows &= trials["measure"] == "gradient_flow"
    found = undecided(set_state(frames, rows, "crashed"))
    assert len(found) == 2
    assert found[0] == (
        "gradient_flow.embedding: no conclusion is drawn about 6 effects (activation = silu, "
        "activation = swiglu, attention = gqa(n_kv_heads=2), bias = false, norm = rmsnorm and "
        "placement = post), as 1 trial crashed, in the cell norm=rmsnorm activation=gelu "
        "attention=gqa(n_kv_heads=2) bias=true placement=pre (the table of effects has what the "
        "survivors alone say, which is no finding)."
    )


def run() -> Frames:
    return make_frames(FACTORS, {"x": np.random.default_rng(0).normal(5, 1, size=(6, 4))})


def rows_of(frames: Frames, cells: list[int], seed: int) -> "pd.Series[bool]":
    here = frames.trials["cell"].isin(frames.cells["cell"].iloc[cells])
    return here & (frames.trials["seed"] == seed)


@pytest.mark.parametrize(
    ("state", "said"),
    [("failed", "failed"), ("crashed", "crashed"), ("timeout", "took too long"),
     ("diverged", "diverged")],
)  # fmt: skip
def test_trials_are_counted_by_cause_and_place(state: str, said: str) -> None:
    frames = run()
    lost = set_state(frames, rows_of(frames, [3, 5], 1), state)
    told = lost_trials(lost, panel(lost), "x")
    assert told == f"2 trials {said}, in 2 of 6 cells, all with norm = b"
    everywhere = set_state(frames, rows_of(frames, [0, 1, 5], 1), state)
    told = lost_trials(everywhere, panel(everywhere), "x")
    assert told == f"3 trials {said}, in 3 of 6 cells"


def test_causes_are_listed() -> None:
    frames = run()
    lost = set_state(frames, rows_of(frames, [3], 1), "crashed")
    lost = set_state(lost, rows_of(frames, [3], 2), "diverged")
    assert lost_trials(lost, panel(lost), "x") == (
        "1 trial crashed and 1 trial diverged, in the cell norm=b size=1"
    )


def test_few_effects_are_told_one_by_one() -> None:
    frames = run()
    only = make_frames({"norm": ["a", "b"]}, {"x": np.ones((2, 3))})
    (text,) = undecided(set_state(only, rows_of(only, [1], 0), "failed"))
    assert text.startswith("x: no conclusion is drawn about norm = b instead of a, as 1 of 3")
    assert len(undecided(set_state(frames, rows_of(frames, [5], 0), "failed"))) == 2
