"""Runs with something wrong in them: each is said, none crashes or loses an n silently."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames, share_of_variance, state_findings
from reports.conditional import conditional_effects
from reports.effects import comparisons
from reports.interactions import interaction_comparisons
from tests.reports.simulated import empty_run, make_frames, set_state

FACTORS = {"norm": ["a", "b"], "size": ["1", "2", "3"]}
LAST = slice(5, 6)  # norm = b, size = 3
NOISE = np.random.default_rng(1).normal(0, 0.05, size=(6, 4))


def run(scale: str = "log", **changed: float) -> Frames:
    values = np.exp(NOISE + np.repeat([0.0, 1.0], 3)[:, None])
    for value in changed.values():
        values[LAST] = value
    return make_frames(FACTORS, {"x": values}, scale=scale)


def with_level(frames: Frames, level: str) -> Frames:
    """The same run whose grid has another level of size that no cell has."""
    row = pd.DataFrame([("size", level, 9, False)], columns=frames.factors.columns)
    return replace(frames, factors=pd.concat([frames.factors, row], ignore_index=True))


def without(frames: Frames, rows: "pd.Series[bool]") -> Frames:
    """The same run without some rows of its metrics."""
    return replace(frames, metrics=frames.metrics[~rows])


def last_cell(frames: Frames) -> str:
    return str(frames.cells["cell"].iloc[5])


def failed(frames: Frames) -> Frames:
    return set_state(frames, frames.trials["cell"] == last_cell(frames), "failed")


RUNS: dict[str, Callable[[], Frames]] = {
    "constant": lambda: make_frames(FACTORS, {"x": np.full((6, 4), 3.0)}),
    "constant, one seed": lambda: make_frames(FACTORS, {"x": np.full((6, 1), 3.0)}),
    "not applicable in a cell": lambda: without(run(), run().metrics["cell"] == last_cell(run())),
    "infinite in a cell": lambda: run("linear", value=np.inf),
    "zero on a log scale": lambda: run("log", value=0.0),
    "NaN everywhere": lambda: make_frames(FACTORS, {"x": np.full((6, 4), np.nan)}),
    "one level": lambda: make_frames({"norm": ["a"], "size": ["1", "2"]}, {"x": NOISE[:2]}),
    "one factor": lambda: make_frames({"norm": ["a", "b"]}, {"x": NOISE[:2]}),
    "one cell": lambda: make_frames({"norm": ["a"]}, {"x": NOISE[:1]}),
    "unbalanced": lambda: failed(run()),
    "a level that no cell has": lambda: with_level(run(), "4"),
    "no factor": lambda: make_frames({}, {"x": NOISE[:1]}),
    "no metric": lambda: make_frames(FACTORS, {}),
    "no trial": lambda: replace(
        run(), trials=run().trials.iloc[:0], metrics=run().metrics.iloc[:0]
    ),
    "nothing done": empty_run,
}


@pytest.mark.parametrize("name", RUNS)
def test_all_of_it_is_computed_and_accounted_for(name: str) -> None:
    frames = RUNS[name]()
    n_seeds = frames.trials["seed"].nunique()
    for table in (comparisons(frames), interaction_comparisons(frames)):
        used = table["n_pairs"] * table["n_seeds"]
        asked = used + table["n_dropped"]
        reasons = table.filter(regex="^n_(diverged|failed|marked|skipped|not_|no_)").sum(axis=1)
        assert (reasons <= table["n_dropped"]).all()
        if n_seeds:
            assert (asked % n_seeds == 0).all()
        estimated = table["estimate"].notna()
        assert (estimated == (used > 0)).all()
        known = table["within_noise"].notna()
        assert (table.loc[known, ["low", "high"]].notna()).all(axis=None)
        assert table.loc[~known, ["low", "high"]].isna().all(axis=None)
    share_of_variance(frames)
    for finding in state_findings(frames):
        assert not re.search(r"\bnan\b|\binf\b|∞|None|NA\b", finding.text, re.IGNORECASE)


def test_every_effect_asked_for_has_its_row() -> None:
    for name, effects, pairs in (
        ("one level", 1, 0), ("one factor", 1, 0), ("one cell", 0, 0), ("no factor", 0, 0),
        ("no metric", 0, 0), ("a level that no cell has", 4, 3), ("no trial", 3, 2),
        ("unbalanced", 3, 2),
    ):  # fmt: skip
        frames = RUNS[name]()
        assert len(comparisons(frames)) == effects, name
        assert len(interaction_comparisons(frames)) == pairs, name


def test_a_constant_metric_is_unchanged_not_noise() -> None:
    frames = RUNS["constant"]()
    for table in (comparisons(frames), interaction_comparisons(frames)):
        assert table["exact"].all()
        assert table["unchanged"].all()
        assert table["within_noise"].all()
    (text,) = [finding.text for finding in state_findings(frames)]
    assert text == (
        "x: unchanged in every pair and seed by norm = b, size = 2 and size = 3 (4 seeds)."
    )
    assert share_of_variance(frames)["share"].isna().all()


@pytest.mark.parametrize(
    ("name", "column", "lost"),
    [
        ("not applicable in a cell", "n_not_applicable", False),
        ("infinite in a cell", "n_no_value", True),
        ("zero on a log scale", "n_no_value", True),
        ("unbalanced", "n_failed", True),
    ],
)
def test_what_is_missing_is_counted_by_its_reason(name: str, column: str, lost: bool) -> None:
    frames = RUNS[name]()
    effects = comparisons(frames).set_index("level")
    assert effects.loc["b", ["n_pairs", "n_seeds", "n_dropped", column]].to_list() == [2, 4, 4, 4]
    assert effects.loc["2", ["n_pairs", "n_seeds", "n_dropped", column]].to_list() == [2, 4, 0, 0]
    assert effects.loc["3", ["n_pairs", "n_seeds", "n_dropped", column]].to_list() == [1, 4, 4, 4]
    together = interaction_comparisons(frames).set_index("level_2")
    assert together.loc["2", ["n_pairs", "n_dropped", column]].to_list() == [1, 0, 0]
    assert together.loc["3", ["n_pairs", "n_dropped", column]].to_list() == [0, 4, 4]
    assert together["within_noise"].isna().to_dict() == {"2": False, "3": True}
    kinds = {f.level: f.kind for f in state_findings(frames) if f.factor}
    assert kinds["b"] == ("undecided" if lost else "most")
    assert not share_of_variance(frames)["balanced"].any()
    inside = conditional_effects(frames, factor="norm", level="b", metric="x", factor_2="size")
    assert inside["n_pairs"].to_list() == [1, 1, 0]
    assert inside[column].to_list() == [0, 0, 4]


def test_a_level_that_no_cell_has_is_told() -> None:
    frames = RUNS["a level that no cell has"]()
    row = comparisons(frames).set_index("level").loc["4"]
    assert list(row[["n_pairs", "n_seeds", "n_dropped"]]) == [0, 0, 0]
    found = [f.text for f in state_findings(frames)]
    assert "x: nothing is said about size = 4, as no two cells differ in it alone." in found
    assert any("not size = 4: no pair to compare" in text for text in found)
    assert conditional_effects(frames, factor="norm", level="b", metric="x", factor_2="size")[
        "n_pairs"
    ].to_list() == [1, 1, 1, 0]
