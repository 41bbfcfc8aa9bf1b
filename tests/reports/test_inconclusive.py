"""What is said where nothing can be concluded: one seed, lost trials, no value."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import state_findings
from tests.reports.simulated import (
    default_run,
    empty_run,
    make_frames,
    set_state,
)
from tests.reports.test_findings import TWO_BY_TWO, logs, plain, texts


def test_one_seed_gives_no_interval() -> None:
    frames = make_frames(TWO_BY_TWO, {"x": logs(1)[:, :1]}, scale="log")
    findings = state_findings(frames)
    assert {finding.kind for finding in findings} == {"undecided"}
    assert all("one seed: no interval can be given" in finding.text for finding in findings)


def test_one_seed_of_a_metric_declared_exact() -> None:
    run = default_run(seeds=1)
    found = [f for f in state_findings(run) if f.metric == "parameters.total"]
    assert plain(found[0].text).startswith("parameters.total: attention matters most; ")
    assert plain(found[0].text).endswith("1 seed; same direction in every pair).")
    assert not [f for f in found if f.kind == "undecided"]


def test_one_seed_claims_no_cause() -> None:
    values = np.array([[1.0], [1.0], [2.69], [2.69]])
    found = texts(make_frames(TWO_BY_TWO, {"x": values}, scale="log"), "undecided")
    assert [text.split(" (")[0] for text in found] == [
        "x: norm = b instead of a was 2.69 times as large in the only seed",
        "x: size = 2 instead of 1 left it unchanged in the only seed",
    ]
    found = texts(make_frames(TWO_BY_TWO, {"x": values}), "undecided")
    assert found[0].startswith(
        "x: norm = b instead of a differed by +1.69 unit, 169 % more in the only seed ("
    )


def eight_cells() -> tuple[dict[str, list[str]], np.ndarray]:
    factors = {"norm": ["a", "b"], "size": ["1", "2", "3", "4"]}
    noise = np.random.default_rng(1).normal(0, 0.002, size=(8, 4))
    return factors, np.exp(np.repeat([0.0, 0.2], 4)[:, None] + noise)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, 1e200])
def test_values_without_a_logarithm_leave_no_finding(value: float) -> None:
    factors, values = eight_cells()
    values[6:] = value
    frames = make_frames(factors, {"x": values}, scale="log")
    assert not texts(frames, "most") + texts(frames, "effect")
    (text,) = texts(frames, "undecided")
    assert text == (
        "x: no conclusion is drawn about 3 effects (norm = b, size = 3 and size = 4), as 8 trials "
        "gave no usable value, in 2 of 8 cells, all with norm = b (the table of effects has what "
        "the survivors alone say, which is no finding)."
    )
    two = {"norm": ["a", "b"], "size": ["1", "2"]}  # so few effects are told one by one
    frames = make_frames(two, {"x": values[[0, 1, 4, 6]]}, scale="log")
    text = next(t for t in texts(frames, "undecided") if "norm = b" in t)
    assert text.startswith(
        "x: no conclusion is drawn about norm = b instead of a, as 4 of 8 paired observations are "
        "not used: 4 without a usable value. Among the survivors alone: 1.22 times, "
    )


def test_where_a_metric_has_no_meaning_nothing_is_lost() -> None:
    """A measure leaves out what a trial does not have: the rest is concluded from, and counted."""
    factors, values = eight_cells()
    values[6:] = np.nan
    frames = make_frames(factors, {"x": values}, scale="log")
    frames = replace(frames, metrics=frames.metrics[frames.metrics["value"].notna()])
    (text,) = texts(frames, "most")
    assert text.startswith("x: norm matters most; norm = b instead of a makes it 1.221 times")
    assert text.endswith("; 8 of 16 paired observations are not used: 8 not applicable).")
    assert not [t for t in texts(frames, "undecided") if "no conclusion" in t]


@pytest.mark.parametrize(
    ("state", "marks", "said"),
    [("skipped", "", "no pair to compare"), ("missing", "", "no pair to compare"),
     ("done", "cancelled_probe", "no pair to compare"), ("diverged", "", "trials were lost")],
)  # fmt: skip
def test_a_level_that_could_not_be_compared_is_named(state: str, marks: str, said: str) -> None:
    factors = {"norm": ["a", "b"], "size": ["1", "2"], "width": ["x", "y"]}
    noise = np.random.default_rng(1).normal(0, 0.01, size=(8, 4))
    values = np.exp(np.repeat([0.0, 1.0], 4)[:, None] + noise)
    frames = make_frames(factors, {"x": values}, scale="log")
    # Every cell but the baseline's own column of norm is lost for width = y.
    cells = frames.cells.set_index("cell").loc[frames.trials["cell"]]
    rows = pd.Series((cells["width"] == "y").to_numpy())
    lost = set_state(frames, rows, state, marks=marks)
    found = texts(lost, "most")
    if state == "diverged":
        assert not found  # norm lost pairs as well
    else:
        (text,) = found
        assert text.startswith(
            f"x: norm matters most, among what can be judged (not width: {said}); "
        )


@pytest.mark.parametrize("state", ["diverged", "failed", "timeout"])
def test_survivors_alone_are_no_finding(state: str) -> None:
    frames = make_frames(TWO_BY_TWO, {"x": logs(1)}, scale="log")
    trials = frames.trials
    lost = set_state(
        frames, (trials["seed"] == 1) & (trials["cell"] == trials["cell"].iloc[-1]), state
    )
    assert not texts(lost, "most")
    assert not texts(lost, "effect")
    text = next(t for t in texts(lost, "undecided") if "norm = b" in t)
    word = "diverged" if state == "diverged" else "failed"
    assert text.startswith(
        "x: no conclusion is drawn about norm = b instead of a, as 2 of 8 paired observations are "
        f"not used: 1 {word} and 1 without their partner in another seed. Among the survivors "
        "alone:"
    )
    assert text.endswith("which is not a finding.")


def test_a_factor_that_lost_trials_is_named_beside_the_winner() -> None:
    factors = {"norm": ["a", "b"], "size": ["1", "2", "3"]}
    noise = np.random.default_rng(1).normal(0, 0.05, size=(6, 4))
    values = np.exp(np.array([0, 0, 0, 1, 1, 1])[:, None] + noise)
    frames = make_frames(factors, {"x": values}, scale="log")
    cells = frames.cells.set_index("cell")["size"].loc[frames.trials["cell"]].to_numpy()
    lost = set_state(frames, pd.Series(cells == "3"), "diverged")
    assert not texts(lost, "most")  # norm = b lost pairs to it as well
    marked = set_state(frames, pd.Series(cells == "3"), "skipped")
    (text,) = texts(marked, "most")
    assert "4 of 12 paired observations are not used: 4 skipped" in text


def test_unfinished_run_says_what_is_missing() -> None:
    findings = state_findings(empty_run())
    assert {finding.kind for finding in findings} == {"undecided"}
    assert "408 of 408" not in findings[0].text or findings[0].n_dropped == 408
    assert "not run yet" in findings[0].text
