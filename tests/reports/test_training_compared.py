"""Effects at the best rates and the others are adjusted as the one family they are."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy import stats
from statsmodels.stats.multitest import multipletests

from reports import Frames, write
from reports.conditional import CONDITIONAL_COLUMNS, NAMES, at_levels, conditional_effects
from reports.effects import comparisons
from reports.estimates import estimates
from reports.interactions import interaction_comparisons
from reports.pairs import pairs
from reports.panel import Panel, panel
from reports.training import compared as compared_module
from reports.training.at_best_rate import frames_at_best_rate, panel_at_best_rate
from reports.training.best_rates import best_rates
from reports.training.common_rates import common_rates_section, effects_at_common_rates
from reports.training.compared import Compared, compare
from tests.reports.simulated import default_run, make_frames
from tests.reports.simulated_training import TRAINING_GRID, training_run


@pytest.fixture(scope="module")
def frames() -> Frames:
    return training_run(seeds=4)


@pytest.fixture(scope="module")
def compared(frames: Frames) -> Compared:
    return compare(frames)


@pytest.mark.parametrize(
    "run",
    [default_run(seeds=2), training_run({"placement": ["pre", "post"]}),
     training_run({"placement": ["pre", "post"], "training.learning_rate": ["0.001"]})],
    ids=["no training", "no rate", "one rate"],
)  # fmt: skip
def test_a_run_that_does_not_vary_the_rate_is_compared_as_ever(run: Frames) -> None:
    found = compare(run)
    assert found.at_best is None
    assert_frame_equal(found.effects, comparisons(run))
    assert_frame_equal(found.interactions, interaction_comparisons(run))


def widened(difference: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """(P, S) differences of settings whose seeds choose (2, P, S) rates, as far apart as they are.

    Nadeau and Bengio's variance of n folds, each a test of 1 after a training on n − 1, is
    1/n + 1/(n − 1) times the sample's instead of 1/n times.
    """
    n = difference.shape[1]
    result = difference.copy()
    for p, pair in enumerate(difference):
        if any(len(set(rates)) > 1 for rates in chosen[:, p].tolist()):
            times = np.sqrt((1 / n + 1 / (n - 1)) / (1 / n))
            result[p] = pair.mean() + times * (pair - pair.mean())
    return result


def p_values(
    frames: Frames, data: Panel, chosen: np.ndarray | None = None
) -> dict[tuple[str, str, str], float]:
    """Of each level and primary metric, by scipy from the values themselves."""
    found = {}
    for contrast in pairs(frames):
        level, reference = contrast.cells
        for index, info in data.info.iterrows():
            if info["primary"]:
                values = data.values[int(str(index))]
                difference = values[level] - values[reference]
                if chosen is not None:
                    difference = widened(difference, chosen[contrast.cells])
                by_seed = difference.mean(axis=0)
                if np.ptp(by_seed) > 1e-9:
                    key = contrast.names["factor"], contrast.names["level"], info["metric"]
                    found[key] = float(stats.ttest_1samp(by_seed, 0).pvalue)
    return found


def test_primary_effects_of_both_are_one_holm_family() -> None:
    frames = training_run(seeds=4, noise=0.15)
    compared = compare(frames)
    best = compared.at_best
    assert best is not None
    assert any(len(set(rates)) > 1 for rates in best.rates.chosen.tolist())
    p = p_values(frames, compared.data) | p_values(best.frames, best.data, best.rates.chosen)
    rejected, *_ = multipletests(list(p.values()), method="holm")
    both = pd.concat([compared.effects, best.effects])
    rows = both[both["primary"]].set_index(["factor", "level", "metric"])["within_noise"]
    assert len(p) > 15
    assert 0 < rejected.sum() < len(p)
    for key, shown in zip(p, rejected, strict=True):
        assert rows[key] == (not shown), key


def noise_alone(gaps: list[float], seeds: int, n_pairs: int = 300) -> Frames:
    """Many pairs of settings whose losses differ by noise alone, ``gaps`` above their best rate."""
    factors = {
        "placement": ["pre", "post"],
        "width": [str(i) for i in range(n_pairs)],
        "training.learning_rate": ["0.0003", "0.001", "0.003"],
    }
    rng = np.random.default_rng(11)
    shape = (2, n_pairs, 3, seeds)
    values = 5 + np.array(gaps)[:, None] + rng.normal(size=shape) + rng.normal(size=seeds)
    run = make_frames(factors, {"training.final_loss": values.reshape(-1, seeds)})
    return replace(
        run,
        trials=run.trials.assign(measure="training"),
        metric_info=run.metric_info.assign(measure="training", better="lower"),
    )


@pytest.mark.parametrize("seeds", [3, 8])
@pytest.mark.parametrize("gaps", [[0, 0, 0], [0, 0.5, 1]])
def test_choosing_a_rate_by_the_other_seeds_is_in_the_intervals(
    gaps: list[float], seeds: int
) -> None:
    """Without it one in six of them would miss."""
    run = noise_alone(gaps, seeds)
    rates = best_rates(run, panel(run))
    assert rates is not None
    best = frames_at_best_rate(run, panel(run), rates)
    data = panel_at_best_rate(best, rates)
    (contrast,) = (c for c in pairs(best) if c.names["factor"] == "placement")
    for metric, most in (
        ("training.final_loss_at_best_rate", 0.085),
        ("training.best_learning_rate", 0.05),
    ):
        table = estimates(data.only(metric), at_levels(best, contrast, "width"), NAMES)
        scatter = table[table["error"] > 0]
        wrong = 2 * stats.t.sf((scatter["mean"] / scatter["error"]).abs(), seeds - 1) < 0.05
        assert wrong.sum() / len(table) < most, metric


def test_intervals_of_the_run_are_wider_for_it(frames: Frames, compared: Compared) -> None:
    alone, together = comparisons(frames), compared.effects
    assert_frame_equal(alone[["factor", "level", "estimate"]],
                       together[["factor", "level", "estimate"]])  # fmt: skip
    width, wider = ((t["high"] - t["low"])[t["primary"]].dropna() for t in (alone, together))
    assert (wider >= width).all()
    assert (wider > width).any()


def test_interactions_of_both_are_one_family(frames: Frames, compared: Compared) -> None:
    best = compared.at_best
    assert best is not None
    alone = interaction_comparisons(best.frames, best.data)
    assert len(best.interactions) == len(alone) > 0
    assert best.interactions["estimate"].to_list() == pytest.approx(alone["estimate"].to_list())
    assert compared.interactions["metric"].to_list() == (
        interaction_comparisons(frames)["metric"].to_list()
    )


def test_effects_at_common_rates_are_those_of_its_pairs(frames: Frames, compared: Compared) -> None:
    table = effects_at_common_rates(frames, compared.data)
    assert tuple(table.columns[: len(CONDITIONAL_COLUMNS)]) == CONDITIONAL_COLUMNS
    assert set(table["factor"]) == set(TRAINING_GRID) - {"training.learning_rate"}
    assert set(table["metric"]) == {
        "training.final_loss", "training.held_out_loss", "training.learnt",
    }  # fmt: skip
    for (factor, level), rows in table[table["metric"] == "training.final_loss"].groupby(
        ["factor", "level"]
    ):
        other = conditional_effects(
            frames, factor=str(factor), level=str(level), metric="training.final_loss",
            factor_2="training.learning_rate",
        )  # fmt: skip
        assert rows["level_2"].to_list() == other["level_2"].to_list()
        assert rows["estimate"].to_list() == pytest.approx(other["estimate"].to_list())
    known = table["low"].notna() & ~table["unchanged"]
    half = (table["high"] - table["estimate"])[known]
    # t with three degrees at a level between Bonferroni's and 5 %
    assert (half > 0).all()


def test_the_planted_loss_is_found_at_each_rate(frames: Frames, compared: Compared) -> None:
    table = effects_at_common_rates(frames, compared.data)
    row = table[(table["metric"] == "training.final_loss") & (table["level"] == "xavier")]
    assert row["estimate"].to_list() == pytest.approx([0.209, 0.075, -0.219], abs=0.03)
    assert (~row["within_noise"].astype(bool)).all()


def test_common_rates_as_a_table(frames: Frames, compared: Compared) -> None:
    table = common_rates_section(effects_at_common_rates(frames, compared.data))
    assert table is not None
    row = dict(zip(table.columns, table.rows[3], strict=True))
    assert row["Change"] == "initializer: normal → xavier"
    assert row["Learning rate of both"] == "0.0003"
    assert row["Verdict"] == "beyond noise, exploratory"
    assert "seeds agree, no interval" in {r[4] for r in table.rows}
    assert table.groups[0] == "training.final_loss"


def test_lost_and_single_seeds_are_told_at_common_rates() -> None:
    lost = [({"placement": "post", "training.learning_rate": "0.003"}, 0)]
    run = training_run(diverged=lost)
    table = common_rates_section(effects_at_common_rates(run, panel(run)))
    assert table is not None
    assert [row[4] for row in table.rows[:3]] == [
        "beyond noise, exploratory", "beyond noise, exploratory", "values lost, no conclusion",
    ]  # fmt: skip
    one = training_run(seeds=1)
    table = common_rates_section(effects_at_common_rates(one, panel(one)))
    assert table is not None
    assert {row[4] for row in table.rows} >= {"one seed, no interval"}
    none = training_run({"placement": ["pre", "post"]})
    assert common_rates_section(effects_at_common_rates(none, panel(none))) is None


def test_page_and_tables_make_everything_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: Counter[str] = Counter()

    def counting(name: str) -> None:
        work = getattr(compared_module, name)

        def counted(*given: object, **named: object) -> object:
            made[name] += 1
            return work(*given, **named)

        monkeypatch.setattr(compared_module, name, counted)

    once = (
        *("joint_cautions", "share_of_variance", "survival", "survival_finding", "predictions"),
        *("effects_at_common_rates", "best_rate_table", "rate_findings", "findings_at_best_rate"),
    )
    for name in (*once, "cautions"):
        counting(name)
    write(training_run(seeds=2), tmp_path)
    assert made == dict.fromkeys(once, 1) | {"cautions": 2}  # of the run, and at the best rates
