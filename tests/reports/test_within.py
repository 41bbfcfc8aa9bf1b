"""What is shown inside an effect that varies, and how often that is wrong."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reports import Frames, conditional, state_findings
from reports.effects import adjusted, comparisons, pair_estimates
from reports.estimates import estimates
from reports.intervals import ALPHA
from reports.pairs import level_codes, pairs
from reports.panel import Panel
from reports.where import where
from reports.within import effects_within
from tests.reports.simulated import interacting, make_frames
from tests.reports.test_coverage import SMALL, grid, noise, panel_of

METRICS = 2


def test_means_and_errors_by_level_and_by_pair() -> None:
    d = np.random.default_rng(0).normal(size=(5, 4))
    level = np.array([0, 2, 0, 2, 2])
    mean, error, n = effects_within(d, level, 3)
    expected = [d[level == one].mean(axis=0) for one in (0, 2)]
    assert n == 3
    assert mean.tolist() == pytest.approx([e.mean() for e in expected])
    assert error.tolist() == pytest.approx([stats.sem(e) for e in expected])
    mean, error, n = effects_within(d)
    assert n == 5
    assert mean.tolist() == pytest.approx(d.mean(axis=1).tolist())
    assert effects_within(d[:, :1])[1].tolist() == [0] * 5


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_both_directions_are_shown_where_both_are(scale: str) -> None:
    row = comparisons(interacting(scale)).set_index("factor").loc["norm"]
    none = 1.0 if scale == "log" else 0.0
    assert row["shown_low"] < none < row["shown_high"]
    two = [0.5, 2] if scale == "log" else [-np.log(2), np.log(2)]
    assert row[["shown_low", "shown_high"]].to_list() == pytest.approx(two, rel=0.03)


def test_a_direction_that_only_noise_has_is_none() -> None:
    """b does 0.6 under post and nothing under pre, where means of pairs fall on both sides."""
    factors = {"norm": ["a", "b"], "w": list("123456789"), "placement": ["pre", "post"]}
    codes = level_codes(make_frames(factors, {"x": np.ones((36, 1))}))
    effect = 0.6 * (codes[:, 0] == 1) * (codes[:, 2] == 1)
    values = np.exp(effect[:, None] + np.random.default_rng(0).normal(0, 0.15, size=(36, 5)))
    frames = make_frames(factors, {"x": values}, scale="log")
    row = comparisons(frames).iloc[0]
    assert row["varies"]
    assert row["varies_with"] == "placement"
    assert row["pair_low"] < 1 < row["pair_high"]
    assert row["shown_low"] == 1 < row["shown_high"]
    assert not any("no common direction" in f.text for f in state_findings(frames))


def test_shown_is_what_the_sentence_says_is_shown() -> None:
    frames = interacting("linear", noise=0.15)
    table = comparisons(frames)
    for row in table[table["varies"].fillna(False)].itertuples():
        inside = conditional.conditional_effects(
            frames, factor=row.factor, level=row.level, metric="x", factor_2=row.varies_with,
            alpha=row.told_level,
        )  # fmt: skip
        shown = inside.loc[inside["within_noise"].eq(False), "estimate"]
        assert row.shown_low == pytest.approx(min(0, shown.min()))
        assert row.shown_high == pytest.approx(max(0, shown.max()))


def told_tables(frames: Frames, data: Panel) -> list[tuple[str, str, pd.DataFrame]]:
    """Every table that is told of some runs: factor, the other factor, and its levels."""
    table = pair_estimates(frames, data)
    run = table["metric"].str[1:].astype(int) // METRICS
    contrasts = {(c.names["factor"], c.names["level"]): c for c in pairs(frames)}
    told = []
    for _, rows in table.groupby(run):
        found = adjusted(rows.reset_index(drop=True))
        for row in found[found["varies"].fillna(False) & (found["varies_with"] != "")].itertuples():
            inside = conditional.at_levels(
                frames, contrasts[row.factor, row.level], row.varies_with
            )
            levels = conditional.adjusted(
                estimates(data.only(row.metric), inside, conditional.NAMES),
                len(inside),
                row.told_level,
            )
            told.append((row.factor, row.varies_with, levels))
    return told


def shown(levels: pd.DataFrame) -> "pd.Series[bool]":
    return levels["within_noise"].eq(False).fillna(False).astype(bool)


@pytest.mark.slow
@pytest.mark.parametrize("n_seeds", [3, 5])
def test_without_an_interaction_little_is_shown_inside_an_effect(n_seeds: int) -> None:
    """Of tables that noise alone selects: 5 % and three standard errors of so few."""
    frames = grid(SMALL)
    values = np.random.default_rng(11).normal(size=(METRICS * 700, 12, n_seeds))
    told = told_tables(frames, panel_of(values))
    assert len(told) >= 10
    wrong = np.mean([shown(levels).any() for *_, levels in told])
    assert wrong <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / len(told))


@pytest.mark.slow
def test_beside_an_interaction_few_levels_are_shown_where_nothing_is() -> None:
    frames = grid(SMALL)
    codes = level_codes(frames)
    planted = 4.0 * ((codes[:, 0] == 1) & (codes[:, 2] == 1))  # norm = b under depth = y alone
    values = planted[:, None] + np.random.default_rng(12).normal(size=(METRICS * 150, 12, 5))
    told = told_tables(frames, panel_of(values))
    right = [levels for factor, other, levels in told if {factor, other} == {"norm", "depth"}]
    assert len(right) > 300
    wrong = [bool(shown(levels).iloc[0]) for levels in right]  # at the baseline of the other
    found = [bool(shown(levels).iloc[1]) for levels in right]
    assert np.mean(wrong) <= ALPHA
    assert np.mean(found) > 0.9
    only = [" only " in where(levels, "") for levels in right]
    covers = [((e["low"] <= 0) & (e["high"] >= 0)).iloc[0] for e in right]
    assert np.mean(only) > 0.5
    assert np.mean(covers) >= 1 - ALPHA


@pytest.mark.slow
def test_noise_of_whole_levels_shows_as_little() -> None:
    frames = grid(SMALL)
    values = noise(frames, 5, np.random.default_rng(13), METRICS * 500)
    told = told_tables(frames, panel_of(values))
    wrong = np.mean([shown(levels).any() for *_, levels in told])
    assert wrong <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / len(told))
