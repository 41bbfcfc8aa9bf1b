"""Effects that moved: against scipy's own tests, and as seldom as they promise where none did."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reports import Frames
from reports.comparison.moved import APART, PAIRED, moved_effects, welch
from reports.training.compared import compare
from tests.reports.simulated import each_table, make_frames, set_state

NORMS = {"norm": ["a", "b"]}
TWO = {"norm": ["a", "b"], "size": ["1", "2"]}


def run(
    effect: float = 1.0,
    seed: int = 0,
    seeds: range = range(5),
    noise: float = 0.1,
    factors: dict[str, list[str]] = NORMS,
    shared: float = 0.0,
) -> Frames:
    """A run in which `b` is that much more than `a`; ``shared`` is what each seed does to `b`."""
    rng = np.random.default_rng(seed)
    n_cells = int(np.prod([len(levels) for levels in factors.values()]))
    values = 5 + rng.normal(0, noise, (n_cells, len(seeds)))
    of_b = np.arange(n_cells) >= n_cells // 2
    drawn = np.random.default_rng(99).normal(0, 1, 100)[list(seeds)]
    values[of_b] += effect + shared * drawn
    return make_frames(factors, {"x": values}, seeds=list(seeds))


def moves(first: Frames, second: Frames, metrics: list[str]) -> pd.DataFrame:
    return moved_effects(compare(first), compare(second), metrics)


def other_cells(frames: Frames) -> Frames:
    """The same run with cells of another content, as of another depth."""
    return each_table(frames, lambda t: t.assign(cell=["f" + cell[1:] for cell in t["cell"]]))


def differences(frames: Frames) -> np.ndarray:
    """What `b` is beyond `a`, by seed, over all pairs."""
    values = frames.metrics.merge(frames.cells, on="cell")
    by_seed = values.groupby(["norm", "seed"])["value"].mean()
    return np.asarray(by_seed["b"] - by_seed["a"], dtype=float)


def only_row(table: pd.DataFrame) -> "pd.Series":
    assert len(table) == 1
    return table.iloc[0]


@pytest.mark.parametrize("factors", [NORMS, {"norm": ["a", "b"], "size": ["1"]}])
def test_shared_cells_and_seeds_are_compared_each_with_itself(factors: dict) -> None:
    first, second = run(1.0, 0, factors=factors), run(1.3, 1, factors=factors)
    row = only_row(moves(first, second, ["x"]))
    told = stats.ttest_rel(differences(second), differences(first))
    interval = told.confidence_interval(0.95)
    assert (row["how"], row["n_pairs"], row["n_seeds"]) == (PAIRED, 1, 5)
    assert row["low"] == pytest.approx(interval.low)
    assert row["high"] == pytest.approx(interval.high)
    assert row["within_noise"] == (told.pvalue > 0.05)


def test_pairing_takes_out_what_a_seed_does_to_both() -> None:
    first, second = run(1.0, 0, shared=3.0, noise=0.01), run(1.2, 1, shared=3.0, noise=0.01)
    assert not only_row(moves(first, second, ["x"]))["within_noise"]
    apart = only_row(moves(first, other_cells(second), ["x"]))
    assert apart["how"] == APART
    assert apart["within_noise"]


def test_other_cells_are_compared_as_two_samples() -> None:
    first, second = run(1.0, 0), other_cells(run(1.5, 1, seeds=range(3, 10), noise=0.3))
    row = only_row(moves(first, second, ["x"]))
    told = stats.ttest_ind(differences(second), differences(first), equal_var=False)
    interval = told.confidence_interval(0.95)
    assert (row["how"], row["n_pairs"], row["n_seeds"]) == (APART, 1, 5)
    assert row["estimate"] == pytest.approx(differences(second).mean() - differences(first).mean())
    assert row["low"] == pytest.approx(interval.low)
    assert row["high"] == pytest.approx(interval.high)


def test_only_the_cells_and_seeds_of_both_are_paired() -> None:
    first = run(1.0, 0, seeds=range(5), factors=TWO)
    second = run(1.3, 1, seeds=range(2, 9), factors=TWO)
    cells = second.cells.assign(
        cell=[c if s == "1" else "f" + c[1:] for c, s in zip(second.cells["cell"],
                                                            second.cells["size"], strict=True)]
    )  # fmt: skip
    new = dict(zip(second.cells["cell"], cells["cell"], strict=True))
    second = replace(
        second,
        cells=cells,
        trials=second.trials.assign(cell=second.trials["cell"].map(new)),
        metrics=second.metrics.assign(cell=second.metrics["cell"].map(new)),
    )
    table = moves(first, second, ["x"]).set_index("factor")
    row = table.loc["norm"]
    assert (row["how"], row["n_pairs"], row["n_seeds"]) == (PAIRED, 1, 3)
    parts = []
    for frames in (first, second):
        values = frames.metrics.merge(frames.cells, on="cell")
        values = values[(values["size"] == "1") & values["seed"].isin([2, 3, 4])]
        wide = values.pivot(index="seed", columns="norm", values="value")
        parts.append(np.asarray(wide["b"] - wide["a"]))
    assert row["estimate"] == pytest.approx((parts[1] - parts[0]).mean())
    assert table.loc["size", "how"] == APART  # no pair of it is in both


def test_one_common_seed_is_no_pairing() -> None:
    row = only_row(moves(run(), run(seed=1, seeds=range(4, 9)), ["x"]))
    assert row["how"] == APART


def test_ratios_are_compared_as_a_ratio_of_ratios() -> None:
    frames = [run(1.0, 0), run(1.5, 1)]
    logs = [
        replace(
            f,
            metrics=f.metrics.assign(value=np.exp(f.metrics["value"])),
            metric_info=f.metric_info.assign(scale="log"),
        )
        for f in frames
    ]
    row = only_row(moves(logs[0], logs[1], ["x"]))
    plain = only_row(moves(frames[0], frames[1], ["x"]))
    for name in ("estimate", "low", "high", "estimate_1", "estimate_2"):
        assert row[name] == pytest.approx(np.exp(plain[name]))


def test_primary_effects_are_adjusted_by_holm_and_the_others_apart_from_them() -> None:
    names = ["p", "q", "r", "s"]

    def several(seed: int) -> Frames:
        rng = np.random.default_rng(seed)
        values = {name: 5 + rng.normal(0, 0.1, (2, 6)) for name in names}
        for n, name in enumerate(names):
            values[name][1] += 0.1 * n * seed
        frames = make_frames(NORMS, values)
        primary = [name != "s" for name in frames.metric_info["metric"]]
        return replace(frames, metric_info=frames.metric_info.assign(primary=primary))

    first, second = several(0), several(1)
    table = moves(first, second, names).set_index("metric")
    p = {}
    for name in names:
        wide = [f.metrics[f.metrics["metric"] == name]["value"].to_numpy().reshape(2, 6)
                for f in (first, second)]  # fmt: skip
        p[name] = stats.ttest_rel(wide[1][1] - wide[1][0], wide[0][1] - wide[0][0]).pvalue
    ordered = sorted(names[:3], key=p.__getitem__)
    rejected = set()
    for k, name in enumerate(ordered):
        if p[name] > 0.05 / (3 - k):
            break
        rejected.add(name)
    assert {name for name in names[:3] if not table.loc[name, "within_noise"]} == rejected
    assert table.loc["s", "within_noise"] == (p["s"] > 0.05)


def test_a_metric_is_primary_only_if_it_is_in_both() -> None:
    first, second = run(), run(seed=1)
    second = replace(second, metric_info=second.metric_info.assign(primary=False))
    assert not only_row(moves(first, second, ["x"]))["primary"]


def exact(values: list[list[float]], n_seeds: int = 3) -> Frames:
    frames = make_frames(NORMS, {"x": np.repeat(np.array(values), n_seeds, axis=1)})
    return replace(frames, metric_info=frames.metric_info.assign(exact=True))


def test_what_no_seed_changes_is_compared_exactly() -> None:
    first, second = exact([[10.0], [12.0]]), exact([[10.0], [13.0]])
    moved = only_row(moves(first, second, ["x"]))
    assert (moved["estimate"], moved["low"], moved["high"]) == (1.0, 1.0, 1.0)
    assert not moved["within_noise"]
    same = only_row(moves(first, exact([[20.0], [22.0]]), ["x"]))
    assert (same["estimate"], same["within_noise"]) == (0.0, True)
    single = only_row(moves(exact([[1.0], [2.0]], 1), exact([[1.0], [4.0]], 1), ["x"]))
    assert (single["estimate"], single["within_noise"]) == (2.0, False)


def test_one_seed_gives_no_interval() -> None:
    row = only_row(moves(run(seeds=range(1)), run(1.5, 1, seeds=range(1)), ["x"]))
    assert pd.isna(row["within_noise"])
    assert np.isnan(row["low"])


@pytest.mark.parametrize("state", ["diverged", "failed"])
@pytest.mark.parametrize("apart", [False, True])
def test_a_lost_trial_of_either_run_is_told(state: str, apart: bool) -> None:
    first, second = run(1.0, 0), run(3.0, 1)
    if apart:
        second = other_cells(second)
    at = (second.trials["cell"] == second.cells["cell"].iloc[1]) & (second.trials["seed"] == 2)
    lost = set_state(second, at, state)
    assert only_row(moves(first, lost, ["x"]))["lost"]
    assert only_row(moves(lost, first, ["x"]))["lost"]
    assert not only_row(moves(first, second, ["x"]))["lost"]


def test_an_effect_against_another_baseline_is_another_effect() -> None:
    first, second = run(), run(seed=1)
    turned = second.factors.assign(baseline=~second.factors["baseline"])
    assert moves(first, replace(second, factors=turned), ["x"]).empty


def test_without_a_factor_or_metric_in_common_there_is_none() -> None:
    other = make_frames({"size": ["1", "2"]}, {"x": np.ones((2, 3))})
    assert moves(run(), other, ["x"]).empty
    assert moves(run(), run(seed=1), []).empty
    assert moves(make_frames({}, {"x": np.ones((1, 3))}), run(), ["x"]).empty


def test_the_same_run_has_not_moved() -> None:
    row = only_row(moves(run(), run(), ["x"]))
    assert (row["estimate"], row["within_noise"]) == (0.0, True)


def test_metrics_in_another_order_are_matched_by_name() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(5, 1, (2, 4)), rng.normal(50, 1, (2, 4))
    first, second = make_frames(NORMS, {"x": x, "y": y}), make_frames(NORMS, {"y": y, "x": x + 1})
    table = moves(first, second, ["x", "y"])
    assert table["estimate"].to_numpy() == pytest.approx(0.0)


def test_seeds_that_are_none_of_the_other_run_are_two_samples() -> None:
    row = only_row(moves(run(), run(seed=1, seeds=range(5, 9)), ["x"]))
    assert (row["how"], row["n_seeds"]) == (APART, 4)


def test_a_metric_that_means_nothing_in_one_of_them_is_left_out() -> None:
    rng = np.random.default_rng(0)
    values = {name: rng.normal(5, 1, (2, 4)) for name in "xy"}
    first = make_frames(NORMS, values)
    kept = first.metrics[first.metrics["metric"] == "x"].reset_index(drop=True)
    table = moves(first, replace(first, metrics=kept), ["x", "y"])
    assert table["metric"].to_list() == ["x"]


def test_what_is_said_against_an_effect_of_either_run_is_said_of_its_move() -> None:
    first, second = run(), run(2.0, 1)
    of_b = second.cells["cell"].iloc[1]
    marks = ["leaks" if cell == of_b else "" for cell in second.trials["cell"]]
    leaking = replace(second, trials=second.trials.assign(marks=marks))
    found = only_row(moves(first, leaking, ["x"]))["caution"]
    assert found.startswith("second run: ")
    assert only_row(moves(leaking, first, ["x"]))["caution"].startswith("first run: ")
    assert only_row(moves(first, second, ["x"]))["caution"] == ""
    both = only_row(moves(leaking, leaking, ["x"]))["caution"]
    assert found == f"second run: {both}"


def test_welch_is_what_scipy_has() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 1, 6), rng.normal(0, 3, 4)
    errors = [x.std(ddof=1) / np.sqrt(len(x)) for x in (a, b)]
    error, degrees = welch(
        np.array([errors[0], 0.0]), np.array([6.0, 6.0]), np.array([errors[1], 0.0]),
        np.array([4.0, 4.0]),
    )  # fmt: skip
    assert degrees[0] == pytest.approx(stats.ttest_ind(a, b, equal_var=False).df)
    assert error[0] == pytest.approx(np.hypot(*errors))
    assert (error[1], degrees[1]) == (0.0, 3.0)


@pytest.mark.slow
@pytest.mark.parametrize("apart", [False, True])
def test_effects_that_did_not_move_are_seldom_said_to(apart: bool) -> None:
    n = 60
    said = 0
    for number in range(n):
        first, second = run(seed=2 * number), run(seed=2 * number + 1)
        if apart:
            second = other_cells(second)
        said += not only_row(moves(first, second, ["x"]))["within_noise"]
    assert said <= stats.binom.ppf(0.999, n, 0.05)
    moved = [
        only_row(moves(run(seed=k), run(1.5, seed=k + 100), ["x"]))["within_noise"]
        for k in range(10)
    ]
    assert not all(moved)
