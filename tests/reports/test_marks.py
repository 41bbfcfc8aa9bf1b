"""Marks on trials: what they say, where they fall, and that a reader meets the grave ones first."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.marks import EXPLAINED, mark_alerts, marked_trials, marks_section, where
from tests.reports.simulated import make_frames, set_state
from tests.reports.simulated_measures import measured_run

FACTORS = {"norm": ["a", "b"], "loss": ["mean", "sum", "last"], "alone": ["x"]}


@pytest.fixture
def frames() -> Frames:
    return make_frames(FACTORS, {"x": np.ones((6, 2))})


def marked(frames: Frames, marks: str = "cancelled_probe", **levels: str) -> Frames:
    """The same run with marks on the trials of the cells that have some levels."""
    here = np.ones(len(frames.cells), dtype=bool)
    for factor, level in levels.items():
        here &= (frames.cells[factor] == level).to_numpy()
    rows = frames.trials["cell"].isin(frames.cells["cell"][here])
    return set_state(frames, rows, "done", marks=marks)


def said(frames: Frames) -> str:
    return where(frames, "m", marked_trials(frames))


def test_a_level_under_which_all_marked_trials_fall(frames: Frames) -> None:
    assert said(marked(frames, loss="sum")) == "all 4 with loss = sum (each of its trials)"


def test_levels_of_two_factors(frames: Frames) -> None:
    both = marked(marked(frames, loss="sum", norm="a"), loss="last", norm="a")
    assert said(both) == "all 4 with norm = a (of its 6 trials); none with loss = mean"


def test_a_single_cell_is_named(frames: Frames) -> None:
    assert said(marked(frames, loss="sum", norm="a")) == "all in the cell norm=a loss=sum alone=x"
    trials = frames.trials.assign(marks=["", "vanishing", *[""] * 10])
    one = replace(frames, trials=trials)
    assert said(one) == "the one in the cell norm=a loss=mean alone=x"


def test_most_of_the_marked_trials() -> None:
    frames = make_frames({"loss": ["mean", "sum"]}, {"x": np.ones((2, 10))})
    trials = frames.trials.copy()
    trials.loc[trials["cell"] == frames.cells["cell"].iloc[1], "marks"] = "vanishing"
    trials.loc[trials.index[0], "marks"] = "vanishing"
    assert said(replace(frames, trials=trials)) == "10 of 11 with loss = sum (each of its trials)"


def test_levels_that_no_marked_trial_has(frames: Frames) -> None:
    both = marked(marked(frames, loss="sum"), loss="last")
    assert said(both) == "none with loss = mean"


def test_every_trial_and_none_in_particular(frames: Frames) -> None:
    assert said(marked(frames)) == "every trial"
    trials = frames.trials.copy()
    trials.loc[trials["seed"] == 0, "marks"] = "vanishing"
    assert said(replace(frames, trials=trials)) == "spread over the levels of every factor"


def test_a_level_that_is_marked_whole_is_named_though_most_marks_are_elsewhere() -> None:
    frames = make_frames({"norm": ["a", "b"], "rate": ["1", "2", "3"]}, {"x": np.ones((6, 4))})
    whole = frames.trials["cell"].isin(frames.cells["cell"][frames.cells["rate"] == "3"])
    some = frames.trials["seed"] == 0
    trials = frames.trials.assign(marks=np.where(whole | some, "vanishing", ""))
    assert said(replace(frames, trials=trials)) == "8 of 12 with rate = 3 (each of its trials)"


def test_trials_that_did_not_end_are_not_counted_as_unmarked(frames: Frames) -> None:
    run = marked(frames, loss="sum")
    rest = ~run.trials["marks"].astype(bool)
    assert said(set_state(run, rest, "failed")) == "every trial"


def test_each_mark_is_explained_and_an_unknown_one_shown_bare(frames: Frames) -> None:
    table = marks_section(marked(frames, "vanishing,odd", loss="sum"))
    assert table is not None
    assert list(table.columns) == ["Mark", "Measure", "Trials", "Where", "Meaning"]
    place = "all 4 with loss = sum (each of its trials)"
    assert table.rows == [
        ["odd", "m", "4", place, "—"],
        ["vanishing", "m", "4", place, EXPLAINED["vanishing"]],
    ]
    assert marks_section(frames) is None


def test_every_explanation_is_a_sentence() -> None:
    assert set(EXPLAINED) == {
        "cancelled_probe",
        "vanishing",
        "exploding",
        "stalled",
        "leaks",
        "nonconforming",
        "unchecked",
    }
    for text in EXPLAINED.values():
        assert text[0].isupper()
        assert text.endswith(".")


def test_alerts_are_of_what_is_no_evidence(frames: Frames) -> None:
    assert mark_alerts(marked(frames, "vanishing", loss="sum")) == []
    (alert,) = mark_alerts(marked(frames, loss="sum"))
    assert alert == (
        "4 of 12 trials of m are left out of every comparison: the last norm removes nearly all of "
        "the gradient of their loss, and what is left says nothing about the model. Which: all 4 "
        "with loss = sum (each of its trials)."
    )
    one = frames.trials.assign(marks=["leaks", *[""] * 11])
    (alert,) = mark_alerts(replace(frames, trials=one))
    assert alert.startswith("1 of 12 trials is no evidence: a component reads the future there.")


def test_what_a_component_gives_is_told_once_with_its_fault(frames: Frames) -> None:
    rows = frames.trials.assign(marks=["nonconforming", *[""] * 11])
    both = replace(
        frames,
        trials=pd.concat([rows, rows.assign(measure="n")], ignore_index=True),
        components=pd.DataFrame(
            {
                "kind": ["norm", "norm"],
                "name": ["good", "odd"],
                "plugin": "p",
                "version": "1",
                "options": "",
                "summary": "",
                "source": "",
                "conformance": ["passed 20 checks", "failed: per_token: tokens are mixed"],
            }
        ),
    )
    table = marks_section(both)
    assert table is not None
    assert [row[:3] for row in table.rows] == [["nonconforming", "all", "1"]]
    (alert,) = mark_alerts(both)
    assert alert == (
        "1 of 12 trials is to be doubted: a component breaks a contract of its kind there: "
        "norm odd (per_token: tokens are mixed)."
    )


def test_marks_are_counted_by_measure() -> None:
    frames = measured_run(
        {"norm": ["layernorm", "rmsnorm"], "loss": ["cross_entropy", "sum"]}, seeds=2, leaks=True
    )
    found = marked_trials(frames).groupby(["mark", "measure"]).size()
    assert found.to_dict() == {
        ("cancelled_probe", "gradient_flow"): 2,
        ("leaks", "attention_map"): 2,
    }
    assert len(mark_alerts(frames)) == 2


def test_trials_without_marks_give_an_empty_table(frames: Frames) -> None:
    empty = marked_trials(replace(frames, trials=frames.trials.iloc[:0]))
    assert isinstance(empty, pd.DataFrame)
    assert empty.empty
