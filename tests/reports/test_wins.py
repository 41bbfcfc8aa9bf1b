"""Win rates by hand: ties, what diverged, what is left out."""

from dataclasses import replace

import numpy as np
import pytest

from reports import Frames, state_findings
from reports.effects import EFFECT_COLUMNS, comparisons, paired_effects
from tests.reports.simulated import make_frames, set_state

TWO_BY_TWO = {"norm": ["a", "b"], "size": ["1", "2"]}  # cells: a1, a2, b1, b2


def run(values: np.ndarray, better: str, scale: str = "linear") -> Frames:
    frames = make_frames(TWO_BY_TWO, {"x": values}, scale=scale)
    return replace(frames, metric_info=frames.metric_info.assign(better=better))


def wins(frames: Frames) -> tuple[float, int]:
    row = comparisons(frames).iloc[0]
    return float(row["win_rate"]), int(row["n_ranked"])


#                    a1: three seeds   a2               b1               b2
VALUES = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 2.0, 1.0], [4.0, 3.0, 2.0]])


def test_ties_count_half_and_direction_decides() -> None:
    # b wins: 1, tie, 0; 1, 1, 0
    assert wins(run(VALUES, "higher")) == (3.5 / 6, 6)
    assert wins(run(VALUES, "lower")) == (2.5 / 6, 6)
    assert wins(run(VALUES, "lower", scale="log")) == (2.5 / 6, 6)
    rate, ranked = wins(run(VALUES, "neither"))
    assert np.isnan(rate)
    assert ranked == 0


def test_rounding_is_a_tie() -> None:
    values = np.array([[0.3], [0.3], [0.1 + 0.2], [0.1 + 0.2]])
    assert wins(run(values, "higher")) == (0.5, 2)


def test_what_float32_cannot_tell_is_a_tie() -> None:
    values = np.array([[1.0, 2, 3]]) * np.array([[1], [1], [1 + 1e-8], [1 + 1e-8]])
    assert comparisons(run(values, "lower"))["unchanged"].iloc[0]
    assert wins(run(values, "lower")) == (0.5, 6)
    assert wins(run(values, "lower", scale="log")) == (0.5, 6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("better", ["higher", "lower"])
def test_a_value_that_is_not_finite_is_last_whatever_its_sign(value: float, better: str) -> None:
    values = VALUES.copy()
    values[2, 0] = value  # b1 loses to a1
    assert wins(run(values, better)) == (2.5 / 6, 6)
    values[0, 0] = np.nan  # both are lost: a tie
    assert wins(run(values, better)) == (3.0 / 6, 6)
    values[2, 0] = 2.0  # b1 beats a1
    assert wins(run(values, better)) == (3.5 / 6, 6)


def test_a_trial_that_diverged_is_last_and_others_are_left_out() -> None:
    frames = run(VALUES, "higher")
    trials = frames.trials

    def lost(state: str, cell: int, seed: int, marks: str = "") -> Frames:
        rows = (trials["cell"] == frames.cells["cell"].iloc[cell]) & (trials["seed"] == seed)
        return set_state(frames, rows, state, marks=marks)

    assert wins(lost("diverged", 2, 0)) == (2.5 / 6, 6)
    assert wins(lost("diverged", 0, 2)) == (4.5 / 6, 6)
    for state in ("failed", "timeout", "missing", "skipped"):
        assert wins(lost(state, 2, 0)) == (2.5 / 5, 5)
    assert wins(lost("done", 2, 0, "cancelled_probe")) == (2.5 / 5, 5)


def test_a_zero_on_a_log_scale_is_left_out() -> None:
    values = VALUES.copy()
    values[2, 0] = 0.0
    assert wins(run(values, "higher", scale="log")) == (2.5 / 5, 5)


def test_it_is_no_column_of_the_table_of_effects() -> None:
    assert tuple(paired_effects(run(VALUES, "higher")).columns) == EFFECT_COLUMNS
    table = comparisons(run(VALUES, "higher"))
    assert table["better"].to_list() == ["higher", "higher"]


def test_survivors_are_told_with_their_rank() -> None:
    values = VALUES.copy()
    values[3, 0] = np.inf
    (text,) = [
        f.text.replace("\u00a0", " ")
        for f in state_findings(run(values, "higher"))
        if f.kind == "undecided" and f.factor == "norm"
    ]
    assert text.endswith(
        "which is not a finding; ranked with what is not finite last, it wins 41.7 % of 6 paired "
        "observations."
    )
    # Nothing survives, but ranks are known.
    values[2:] = np.nan
    (text,) = [
        f.text.replace("\u00a0", " ")
        for f in state_findings(run(values, "higher"))
        if f.kind == "undecided" and f.factor == "norm"
    ]
    assert text.endswith(
        "as 6 of 6 paired observations are not used: 6 without a usable value; ranked with "
        "what is not finite last, it wins 0 % of 6 paired observations."
    )
    # Of trials that diverged that is said.
    frames = run(VALUES, "higher")
    last = frames.trials["cell"] == frames.cells["cell"].iloc[3]
    (text,) = [
        f.text for f in state_findings(set_state(frames, last, "diverged")) if f.factor == "norm"
    ]
    assert "; ranked with diverged trials last, it wins " in text
