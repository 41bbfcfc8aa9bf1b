"""A paper's table: figures against an independent formula, and every sign of it explained."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from reports import Frames
from reports.cautions import cautions
from reports.effects import comparisons
from reports.panel import panel
from reports.paper import PaperTable, paper_tables
from reports.paper_entries import Entry, baseline_entry, level_entry
from tests.reports.simulated import default_run, make_frames, one_at_a_time, set_state

TWO = {"norm": ["a", "b"], "size": ["1", "2"]}


def tables(frames: Frames, how: str = "") -> list[PaperTable]:
    data = panel(frames)
    effects = comparisons(frames, data)
    return paper_tables(frames, data, effects, cautions(frames, effects), how)


def entries(frames: Frames) -> dict[tuple[str, str, str], Entry]:
    """By factor, level and heading."""
    return {
        (factor, row.name, heading): entry
        for table in tables(frames)
        for factor, rows in table.groups.items()
        for row in rows
        for heading, entry in zip(table.columns, row.entries, strict=True)
    }


def one_factor(values: np.ndarray, scale: str = "linear", better: str = "lower") -> Frames:
    frames = make_frames({"norm": [*"abcdef"[: len(values)]]}, {"x": values}, scale=scale)
    return replace(frames, metric_info=frames.metric_info.assign(better=better))


def test_a_figure_is_a_mean_and_half_the_interval_of_its_paired_difference() -> None:
    values = np.random.default_rng(0).normal(5, 0.3, (2, 6)) + np.array([[0.0], [1.0]])
    difference = values[1] - values[0]
    half = stats.t.ppf(0.975, 5) * difference.std(ddof=1) / math.sqrt(6)  # alone: no adjustment
    entry = entries(one_factor(values))["norm", "b", "x ↓"]
    assert (entry.value, entry.width) == (f"{values[1].mean():.2f}", f"± {half:.2f}")
    base = entries(one_factor(values))["norm", "a (baseline)", "x ↓"]
    assert (base.value, base.width) == (f"{values[0].mean():.2f}", "")


def test_a_small_ratio_has_the_longer_half_of_its_interval_in_percent() -> None:
    values = np.exp(np.random.default_rng(0).normal(0, 0.05, (2, 6)))
    difference = np.log(values[1] / values[0])
    half = stats.t.ppf(0.975, 5) * difference.std(ddof=1) / math.sqrt(6)
    entry = entries(one_factor(values, "log"))["norm", "b", "x ↓"]
    assert entry.width == f"± {100 * math.expm1(half):.1f}\u00a0%"
    assert float(entry.value) == pytest.approx(np.exp(np.log(values[1]).mean()), abs=5e-4)


def test_a_wide_ratio_has_the_ends_of_its_interval() -> None:
    values = np.exp(np.random.default_rng(0).normal(0, 1, (2, 6)))
    difference = np.log(values[1] / values[0])
    half = stats.t.ppf(0.975, 5) * difference.std(ddof=1) / math.sqrt(6)
    middle = np.log(values[1]).mean()
    low, high = np.exp([middle - half, middle + half])
    entry = entries(one_factor(values, "log"))["norm", "b", "x ↓"]
    assert entry.width == f"[{low:#.3g}, {high:#.3g}]"
    assert (
        "[a, b]: the level's mean at the ends of the adjusted 95\u00a0% interval"
        in tables(one_factor(values, "log"))[0].caption
    )


def test_an_end_beyond_a_thousandfold_is_no_figure() -> None:
    values = np.exp([[0.0, 0.0], [100.0, -100.0]])
    assert (
        entries(one_factor(values, "log"))["norm", "b", "x ↓"].width
        == "[under 0.00100, over 1,000]"
    )


def test_the_baseline_comes_first_whatever_its_place_in_the_grid() -> None:
    frames = one_factor(np.random.default_rng(0).normal(5, 0.3, (3, 4)))
    moved = frames.factors.assign(baseline=frames.factors["level"] == "c")
    (table,) = tables(replace(frames, factors=moved))
    assert [row.name for row in table.groups["norm"]] == ["c (baseline)", "a", "b"]


def test_rows_of_a_factor_differ_by_its_paired_effects_where_pairs_are_missing() -> None:
    values = np.arange(16, dtype=float).reshape(4, 4) ** 2
    frames = make_frames({"norm": ["a", "b", "c", "d"]}, {"x": values})
    full = make_frames(TWO, {"x": np.random.default_rng(0).normal(5, 1, (4, 4))})
    for run in (frames, full):
        effects = comparisons(run).set_index(["factor", "level"])
        found = entries(run)
        for (factor, name, heading), entry in found.items():
            if name.endswith("(baseline)"):
                continue
            base = next(e for (f, n, _), e in found.items() if f == factor and "baseline" in n)
            difference = float(entry.value.replace(",", "")) - float(base.value.replace(",", ""))
            assert difference == pytest.approx(effects.loc[(factor, name), "estimate"], abs=0.2)
            assert heading == "x"


def test_what_is_lost_stands_beside_the_figure_and_is_never_the_best() -> None:
    frames = one_factor(np.array([[5.0, 5.1, 5.2, 5.1], [1.0, 1.1, 1.0, 1.2]]))
    assert entries(frames)["norm", "b", "x ↓"].best
    at = (frames.trials["cell"] == frames.cells["cell"].iloc[1]) & (frames.trials["seed"] == 0)
    lost = set_state(frames, at, "diverged")
    entry = entries(lost)["norm", "b", "x ↓"]
    assert (entry.lost, entry.best, entry.sign) == ("1 diverged", False, "")
    assert "a mean of survivors, no finding" in tables(lost)[0].caption
    every = set_state(frames, frames.trials["cell"] == frames.cells["cell"].iloc[1], "failed")
    gone = entries(every)["norm", "b", "x ↓"]
    assert (gone.value, gone.width, gone.lost) == ("—", "", "4 failed")


def test_units_directions_n_and_conventions_are_told() -> None:
    frames = default_run(seeds=3)
    info = frames.metric_info
    lower = info.assign(better=np.where(info["metric"] == "parameters.total", "lower", "neither"))
    (table,) = tables(replace(frames, metric_info=lower))
    assert table.columns == (
        *("parameters.total ↓", "gradient_flow.embedding", "gradient_flow.sensitivity_ratio"),
    )
    assert table.caption.startswith(
        "norm-placement: each level of a factor against its baseline, all else equal. Columns: "
        "parameters.total (parameters, lower is better), gradient_flow.embedding (gradient norm) "
        "and gradient_flow.sensitivity_ratio (ratio). Figures: means over n = 24 to 36 pairs of "
        "cells and 3 seeds, geometric for gradient_flow.embedding and "
        "gradient_flow.sensitivity_ratio; "
    )
    assert table.notes[0] == (
        "parameters.total: Parameters: total; Unique parameters; non-embedding leaves out token "
        "and position embeddings and head."
    )
    assert table.label == "norm-placement-1"


def test_no_sign_is_explained_that_is_not_there() -> None:
    rng = np.random.default_rng(0)
    (alike,) = tables(one_factor(rng.normal(5, 1, (2, 4))))
    for sign in ("Bold:", "*:", "†:", "[a, b]:", "In brackets:", "Unfinished:", "One seed:"):
        assert sign not in alike.caption
    assert "none is bold" in alike.caption
    (single,) = tables(one_factor(rng.normal(5, 1, (2, 1))))
    assert "One seed: no interval can be given." in single.caption
    assert "±" not in single.caption


def test_a_star_says_what_the_report_says() -> None:
    frames = default_run(seeds=5)
    rows = comparisons(frames)
    starred = {
        (factor, name, heading)
        for (factor, name, heading), entry in entries(frames).items()
        if "*" in entry.sign
    }
    shown = rows[rows["primary"] & rows["within_noise"].eq(False)]
    assert starred == set(zip(shown["factor"], shown["level"], shown["metric"], strict=True))


def test_more_metrics_make_more_tables_and_parameters_stand_in_those_without_them() -> None:
    rng = np.random.default_rng(0)
    values = {name: rng.normal(5, 1, (2, 3)) for name in ("p", "q", "r", "s")}
    total = np.array([[100.0] * 3, [110.0] * 3])
    frames = make_frames({"norm": ["a", "b"]}, {"parameters.total": total, **values})
    frames = replace(
        frames, metric_info=frames.metric_info.assign(exact=[True, *[False for _ in values]])
    )
    first, second = tables(frames)
    assert first.columns == ("parameters.total", "p", "q")
    assert second.columns == ("r", "s", "parameters")
    assert [row.entries[-1].value for row in second.groups["norm"]] == ["", "+10.0\u00a0%"]
    assert (first.label, second.label) == ("simulated-1", "simulated-2")


def test_a_design_of_one_change_at_a_time_has_one_pair_a_row() -> None:
    (table,) = tables(one_at_a_time(default_run(seeds=2)))
    assert "n = 1 pair of cells and 2 seeds" in table.caption


def test_a_run_without_a_comparison_has_no_table() -> None:
    assert tables(make_frames({}, {"x": np.ones((1, 2))})) == []
    assert tables(make_frames({"norm": ["a", "b"]}, {"x": np.ones((2, 2))}, primary=False)) == []


def test_digits_are_those_that_the_interval_leaves() -> None:
    frames = make_frames({"norm": ["a", "b"]}, {"x": np.ones((2, 2))})
    row = next(comparisons(frames).itertuples())

    def told(mean: float, half: float) -> tuple[str, str]:
        like = row._replace(
            estimate=mean, low=mean - half, high=mean + half, within_noise=True, exact=False
        )
        entry = level_entry(like, 0.0, best=False, flagged=False)
        return entry.value, entry.width

    assert told(1.23456, 0.0123) == ("1.235", "± 0.012")
    assert told(-12345.6, 234.0) == ("−12,346", "± 234")
    assert told(0.00001234, 0.0000012) == ("1.23·10⁻⁵", "± 1.2·10⁻⁶")
    assert told(1.5, math.inf) == ("1.50", "± ∞")
    assert baseline_entry(2.0, [row], best=False) == Entry(value="2")
