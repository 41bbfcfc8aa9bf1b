"""Sentences that say what the data say, and no more."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reports import Finding, Frames, state_findings
from reports.effects import comparisons
from reports.interactions import interaction_comparisons
from reports.panel import panel
from tests.reports.simulated import (
    default_run,
    interacting,
    make_frames,
    one_at_a_time,
    set_state,
    twelve_cells,
)

TWO_BY_TWO = {"norm": ["a", "b"], "size": ["1", "2"]}
NOISE = np.random.default_rng(1).normal(0, 0.05, size=(4, 4))


@pytest.fixture(scope="module")
def default() -> list[Finding]:
    return state_findings(default_run())


def texts(frames: Frames, kind: str) -> list[str]:
    return [plain(f.text) for f in state_findings(frames) if f.kind == kind]


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u2212", "-")


def logs(effect_b: float, noise: np.ndarray = NOISE) -> np.ndarray:
    return np.asarray(np.exp(np.array([0, 0, effect_b, effect_b])[:, None] + noise))


def test_the_factor_that_matters_most_leads(default: list[Finding]) -> None:
    assert [(f.kind, f.metric, f.factor) for f in default[:3]] == [
        ("most", "gradient_flow.embedding", "placement"),
        ("most", "gradient_flow.sensitivity_ratio", "placement"),
        ("most", "parameters.total", "attention"),
    ]
    assert re.fullmatch(
        r"gradient_flow\.embedding: placement matters most; placement = post instead of pre makes "
        r"it 2\.1\d times as large \(adjusted 95 % interval 2\.\d\d to 2\.\d\d times; 36 pairs, "
        r"5 seeds; same direction in every pair; under 0\.01 % fewer parameters\)\.",
        plain(default[0].text),
    )


def test_exact_and_unchanged_are_said(default: list[Finding]) -> None:
    by_key = {(f.metric, f.level): plain(f.text) for f in default}
    assert by_key["parameters.total", "mqa"].endswith(
        "attention = mqa instead of mha changes it by -1,181,952 parameters, 12.3 % less "
        "(exact, no seed changes it; mean of 24 pairs, from -1,184,256 to -1,179,648; 5 seeds; "
        "same direction in every pair)."
    )
    noise = [plain(f.text) for f in default if f.kind == "noise"]
    assert (
        "parameters.total: unchanged in every pair and seed by activation = silu (5 seeds)."
        in noise
    )


def test_effects_come_by_size_and_noise_after_them(default: list[Finding]) -> None:
    kinds = [finding.kind for finding in default]
    assert kinds == sorted(kinds, key=["most", "effect", "undecided", "noise", "exploratory"].index)
    same = [f.estimate for f in default if f.metric == "gradient_flow.embedding"]
    sizes = [abs(np.log(estimate)) for estimate in same if estimate]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 4


def test_inside_noise_is_one_sentence_without_a_direction() -> None:
    (text,) = texts(make_frames(TWO_BY_TWO, {"x": np.exp(NOISE)}, scale="log"), "noise")
    assert text == "x: inside seed noise, no effect is shown of norm = b and size = 2 (4 seeds)."


def test_factors_that_may_be_as_large_are_named() -> None:
    values = np.exp(np.array([0, 0.99, 1, 1.99])[:, None] + NOISE)
    (text,) = texts(make_frames(TWO_BY_TWO, {"x": values}, scale="log"), "most")
    assert re.match(
        r"x: (norm|size) has the largest shown effect, though that of (norm|size) may be as large;",
        text,
    )


def test_a_rival_inside_noise_with_a_wide_interval_is_a_rival() -> None:
    wide = np.array([-2, 0, 2, 0.5]) * np.array([0, 1, 0, 1])[:, None]  # by seed, of size = 2
    values = np.exp(np.array([0, 0, 1, 1])[:, None] + wide + NOISE / 10)
    frames = make_frames(TWO_BY_TWO, {"x": values}, scale="log")
    (text,) = texts(frames, "most")
    assert text.startswith(
        "x: norm has the largest shown effect, though that of size may be as large; "
    )
    assert "size = 2" in texts(frames, "noise")[0]


def test_most_is_by_levels_that_lie_furthest_apart() -> None:
    factors = {"norm": ["a", "b"], "size": ["1", "2", "3"]}
    levels = np.array([0, -0.8, 0.8, 1, 0.2, 1.8])[:, None]
    noise = np.random.default_rng(1).normal(0, 0.001, size=(6, 4))
    frames = make_frames(factors, {"x": np.exp(levels + noise)}, scale="log")
    (text,) = texts(frames, "most")
    assert re.match(
        r"x: size matters most \(its levels lie up to 4\.9\d times apart\); size = [23] instead of",
        text,
    )
    # The same cells with another baseline: the same winner.
    moved = frames.factors.assign(baseline=frames.factors["level"].isin(["a", "3"]))
    (again,) = texts(replace(frames, factors=moved), "most")
    assert again.startswith("x: size matters most; size = 2 instead of 3 makes it 0.20")


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_an_effect_that_cancels_is_told(scale: str) -> None:
    frames = interacting(scale)
    kinds = {(f.kind, f.factor) for f in state_findings(frames)}
    assert {("depends", "norm"), ("most", "size")} <= kinds
    text = next(t for t in texts(frames, "depends") if "norm = b" in t)
    two, half = {
        "log": (r"2\.00 times, 1\.9\d to 2\.0\d times", r"0\.499 times, 0\.4\d+ to 0\.5\d+ times"),
        "linear": (r"\+0\.69\d unit, \+0\.6\d+ to \+0\.7\d+",
                   r"-0\.69\d unit, -0\.7\d+ to -0\.6\d+"),
    }[scale]  # fmt: skip
    assert re.match(
        "x: norm = b instead of a has no common direction: it depends on placement, shown with "
        f"placement = post \\({half}\\) and pre \\({two}\\) \\(95 % intervals by placement, "
        r"adjusted for all that was looked at; 4 pairs, 5 seeds; same direction in 50 % of the "
        r"pairs\)\.",
        text,
    )
    assert not any("norm = b" in noise for noise in texts(frames, "noise"))
    (most,) = texts(frames, "most")
    assert "matters most" not in most
    assert re.match(r"x: size has the largest mean effect, though that of \w+ goes from", most)


def test_tables_that_are_computed_already_are_used() -> None:
    frames = twelve_cells(np.random.default_rng(3).normal(size=(2, 2, 3)))
    data = panel(frames)
    given = state_findings(
        frames,
        comparisons(frames, data),
        interactions=interaction_comparisons(frames, data),
        data=data,
    )
    assert given == state_findings(frames)


def test_one_side_of_an_interaction_does_not_matter_most() -> None:
    values = np.log([1, 1, 2, 0.5])[:, None] + NOISE / 5  # size: nothing under a, ÷4 under b
    found = texts(make_frames(TWO_BY_TWO, {"x": np.exp(values)}, scale="log"), "most")
    assert re.match(
        r"x: size has the largest mean effect, though that of norm goes from 0\.\d+ to "
        r"[\d.]+ times by size; size = 2",
        found[0],
    )


def test_a_leader_with_both_directions_does_not_matter_most() -> None:
    values = np.exp(np.array([0, 0, 1, -0.2])[:, None] + NOISE / 50)
    (text, *_) = texts(make_frames(TWO_BY_TWO, {"x": values}, scale="log"), "most")
    assert "matters most" not in text
    assert "times as large on average, but it depends on norm: shown only with norm = b (" in text


def test_both_directions_alone_keep_a_leader_from_mattering_most() -> None:
    # What norm does by size, and each size's own effect so that it cancels over norm.
    by_size = np.array([0.4, 1, -0.1, 1, 1, 1])
    flow = np.array([-by_size / 2, by_size / 2])
    noise = np.random.default_rng(1).normal(0, 0.001, size=(12, 4))
    factors = {"norm": ["a", "b"], "size": list("123456")}
    frames = make_frames(factors, {"x": np.exp(flow.reshape(12, 1) + noise)}, scale="log")
    (text,) = texts(frames, "most")
    assert text.startswith(
        "x: norm has the largest mean effect; norm = b instead of a makes it 2.0"
    )
    assert re.search(
        r"on average, but it depends on the other factors: pair means go from 0\.90\d to 2\.7\d "
        r"times, noise included \(adjusted",
        text,
    )


def test_differences_are_ranked_as_they_are() -> None:
    # The references of size average to nothing: against them its effect would be endless.
    values = np.array([-5, 4, 5, 14])[:, None] + NOISE / 10
    (text,) = texts(make_frames(TWO_BY_TWO, {"x": values}), "most")
    assert text.startswith("x: norm matters most; norm = b instead of a changes it by +9.999 unit")


def test_exact_effects_that_cancel_and_that_differ() -> None:
    values = np.repeat([[10.0], [10.0], [20.0], [5.0]], 2, axis=1)
    frames = make_frames(TWO_BY_TWO, {"x": values}, scale="log")
    assert texts(frames, "depends") == [
        "x: norm = b instead of a has no common direction: it depends on size, shown with size = 2 "
        "(0.500 times) and 1 (2.00 times) (exact, no seed changes it; mean of 2 pairs; 2 seeds)."
    ]
    # What no factor tells alone has its range.
    values = np.repeat([10.0, 10, 10, 10, 20, 5, 5, 20], 2).reshape(8, 2)
    factors = TWO_BY_TWO | {"width": ["x", "y"]}
    found = texts(make_frames(factors, {"x": values}, scale="log"), "depends")
    assert next(text for text in found if "norm = b" in text).startswith(
        "x: norm = b instead of a has no common direction: it depends on the other factors, "
        "pair means go from 0.500 to 2.00 times (exact"
    )
    values = np.repeat([[10.0], [10.0], [20.0], [30.0]], 2, axis=1)
    text = texts(make_frames(TWO_BY_TWO, {"x": values}), "most")[0]
    assert "mean of 2 pairs, from +10 to +20; 2 seeds; same direction in every pair" in text


def test_small_ratios_are_percentages_and_large_ones_are_times() -> None:
    frames = make_frames(TWO_BY_TWO, {"x": logs(0.1, NOISE / 20)}, scale="log")
    assert "changes it by +10." in texts(frames, "most")[0]
    frames = make_frames(TWO_BY_TWO, {"x": logs(-1, NOISE / 20)}, scale="log")
    assert "makes it 0.36" in texts(frames, "most")[0]


def test_direction_that_does_not_hold_everywhere_is_said() -> None:
    values = np.exp(np.array([0, 0, 1, -0.2])[:, None] + NOISE / 10)
    (text, *_) = texts(make_frames(TWO_BY_TWO, {"x": values}, scale="log"), "most")
    assert "same direction in 50 % of the pairs" in text


def test_a_single_factor_is_set_against_no_other() -> None:
    values = np.exp(np.array([[0.0], [1.0], [-1.0]]) + NOISE[:3])
    (text,) = texts(make_frames({"norm": ["a", "b", "c"]}, {"x": values}, scale="log"), "most")
    assert re.match("x: norm = [bc] instead of a makes it", text)


def test_nothing_is_less_than_all_of_it() -> None:
    values = np.array([1.0, 2.0, -2.0, -1.0])[:, None] + NOISE / 10
    text = next(f.text for f in state_findings(make_frames(TWO_BY_TWO, {"x": values})) if f.factor)
    assert "less" not in text
    assert " more" not in text


def test_levels_that_are_short_alike_are_told_apart() -> None:
    long = "gqa(n_kv_heads=2, qk_norm={}, window=256, dropout=0.0)"
    factors = {"attention": ["mha", long.format("true"), long.format("false")], "size": ["1", "2"]}
    values = np.repeat([0.0, 1, 2], 2)[:, None] + np.random.default_rng(0).normal(
        0, 0.01, size=(6, 4)
    )
    found = state_findings(make_frames(factors, {"x": values}))
    told = [f for f in found if f.factor == "attention"]
    assert [f.level for f in told] == [long.format("false"), long.format("true")]
    assert "qk_norm=false" in told[0].text
    assert "qk_norm=true" in told[1].text


def test_where_all_pairs_used_are_of_one_level_that_is_said() -> None:
    factors = {"norm": ["a", "b"], "size": ["1", "2"], "placement": ["pre", "post"]}
    values = np.repeat([0.0, 1], 4)[:, None] + np.random.default_rng(0).normal(5, 0.01, size=(8, 4))
    frames = make_frames(factors, {"x": values})
    gone = frames.cells["cell"][
        (frames.cells["norm"] == "b") & (frames.cells["placement"] == "post")
    ]
    skipped = set_state(frames, frames.trials["cell"].isin(gone), "skipped")
    (text,) = texts(skipped, "most")
    assert text.endswith("8 of 16 paired observations are not used: 8 skipped; only pairs with "
                         "placement = pre).")  # fmt: skip
    assert not any("only pairs" in f.text for f in state_findings(frames))
    noise = texts(skipped, "noise")
    assert "12 paired observations not used: 12 skipped" in noise[0]


def test_figures_that_are_no_evidence_are_flagged_wherever_they_are_told() -> None:
    """Two levels together make the size four times as large: an interaction, and little else."""
    rng = np.random.default_rng(0)
    at = np.array(np.unravel_index(np.arange(16), (2, 2, 2, 2)))[:, :, None]
    size = np.exp(np.log(9) * (at[0] * at[1] + at[2] * at[3]) + np.log(4) * at[0] * at[2])
    size = size * np.exp(rng.normal(0, 0.01, size=(16, 5)))
    factors = {f: ["0", "1"] for f in ("norm", "act", "init", "width")}
    frames = make_frames(
        factors, {"raw": 1 / size, "noise": np.exp(rng.normal(size=(16, 5))), "size": size},
        scale="log",
    )  # fmt: skip
    info = frames.metric_info.assign(primary=[True, True, False])
    sized = pd.Series(["size", "", ""], dtype=object)
    frames = replace(frames, metric_info=info.assign(scales_with=sized))
    together = [text for text in texts(frames, "interaction") if text.startswith("raw")]
    assert [text for text in together if "norm = 1 instead of 0 and init = 1 instead" in text]
    for text in together:
        assert re.search(r"; sizes differ [\d.]+ times: not evidence of flow \(adjusted", text)
    flat = frames.metrics.assign(value=np.exp(rng.normal(size=len(frames.metrics))))
    kept = frames.metrics["metric"] == "size"
    flat.loc[kept, "value"] = frames.metrics.loc[kept, "value"]
    inside = sorted(texts(replace(frames, metrics=flat), "noise"), reverse=True)  # raw, noise
    assert re.search(r"raw: .*norm = 1 \(sizes differ [\d.]+ times: not evidence", inside[0])
    assert "evidence" not in inside[1]
    one = make_frames(factors, {"raw": 1 / size[:, :1], "size": size[:, :1]}, scale="log")
    info = one.metric_info.assign(scales_with=pd.Series(["size", ""], dtype=object))
    undecided = texts(replace(one, metric_info=info), "undecided")
    assert "not evidence of flow" in next(text for text in undecided if text.startswith("raw"))


def test_parameters_are_told_beside_other_metrics_only(default: list[Finding]) -> None:
    by_key = {(f.metric, f.level): plain(f.text) for f in default if f.level}
    assert "with 12.3 % fewer parameters" in by_key["gradient_flow.embedding", "mqa"]
    assert "parameters (exact" not in by_key["parameters.total", "mqa"]
    assert "parameters (" not in by_key["gradient_flow.embedding", "silu"]  # an equal budget


def test_exploratory_effects_are_counted_not_told(default: list[Finding]) -> None:
    (text,) = [plain(f.text) for f in default if f.kind == "exploratory"]
    assert re.match(
        r"Exploratory: \d+ of 21 effects and \d+ of 57 interactions on 3 further metrics lie "
        r"outside noise, and \d+ of the effects depend on the other factors",
        text,
    )
    assert not any("raw_ratio" in f.text for f in default)


def test_one_factor_at_a_time_nothing_is_said_of_the_others() -> None:
    found = state_findings(one_at_a_time(default_run()))
    (text,) = [plain(f.text) for f in found if f.kind == "exploratory"]
    assert re.match(
        r"Exploratory: \d+ of 21 effects on 3 further metrics lie outside noise \(", text
    )
    assert not [f for f in found if f.kind in ("depends", "interaction")]


@example([5e-324] * 6 + [1e149] * 6, "linear")
@example([1e-320, 0, 1e-320] * 2 + [-1e149, 1e149, 1] * 2, "linear")
@settings(max_examples=30)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=True, allow_infinity=True),
            st.sampled_from([0.0, 1.0, -1.0, 1e308, 5e-324]),
        ),
        min_size=12,
        max_size=12,
    ),
    st.sampled_from(["linear", "log"]),
)
def test_no_sentence_holds_a_nan_or_an_infinity(values: list[float], scale: str) -> None:
    frames = make_frames(TWO_BY_TWO, {"metric": np.reshape(values, (4, 3))}, scale=scale)
    frames = replace(frames, metric_info=frames.metric_info.assign(better="lower"))
    for finding in state_findings(frames):
        assert not re.search(r"\bnan\b|\binf\b|∞", finding.text, re.IGNORECASE), finding.text
        figures = [finding.estimate, finding.low, finding.high]
        assert all(np.isfinite(figure) for figure in figures if figure is not None)


def test_metrics_that_are_not_primary_lead_nothing() -> None:
    frames = make_frames(TWO_BY_TWO, {"x": logs(1)}, scale="log", primary=False)
    assert [finding.kind for finding in state_findings(frames)] == ["exploratory"]


def test_findings_of_no_metric() -> None:
    frames = make_frames(TWO_BY_TWO, {})
    assert state_findings(replace(frames, metrics=frames.metrics.iloc[:0])) == []
