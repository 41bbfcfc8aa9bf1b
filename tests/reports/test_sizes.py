"""Raw figures are flagged where levels differ in the size that they are told in."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.cautions import cautions
from reports.effects import comparisons
from reports.effects_section import effects_section
from reports.figures import effect_figures
from reports.findings import state_findings
from reports.interactions import interaction_comparisons
from reports.plots.effects import DAGGER, effects_table
from reports.sizes import (
    LIMIT,
    flag,
    interaction_flags,
    raw_note,
    raw_warning,
    scaling,
    size_flags,
    times,
)
from tests.reports.simulated import make_frames, set_state

FACTORS = {"init": ["a", "b"], "norm": ["l", "r"]}


def run(ratio: float = 16.0, *, together: float = 1.0, scale: str = "log") -> Frames:
    """`size` is `ratio` times as large under b, once more `together` times under b and r."""
    times_larger = np.array([1.0, 1.0, ratio, ratio * together])  # al, ar, bl, br
    noise = np.exp(np.random.default_rng(0).normal(0, 0.001, size=(4, 3)))
    size = 0.02 * times_larger[:, None] * noise
    frames = make_frames(FACTORS, {"raw": 1 / size, "honest": noise, "size": size}, scale=scale)
    info = frames.metric_info
    sized = ["size" if metric == "raw" else "" for metric in info["metric"]]
    return replace(frames, metric_info=info.assign(scales_with=pd.Series(sized, dtype=object)))


def flags_of(frames: Frames) -> dict[tuple[str, str, str], float]:
    return size_flags(frames, comparisons(frames))


@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize("ratio", [16.0, 1 / 16, LIMIT * 1.02, 1 / LIMIT / 1.02])
def test_levels_whose_sizes_differ_are_flagged_either_way(ratio: float, scale: str) -> None:
    flags = flags_of(run(ratio, scale=scale))
    assert list(flags) == [("init", "b", "raw")]
    assert flags["init", "b", "raw"] == pytest.approx(ratio, rel=0.01)


@pytest.mark.parametrize("ratio", [1.0, LIMIT * 0.98, 1 / LIMIT / 0.98])
def test_smaller_differences_are_not(ratio: float) -> None:
    assert flags_of(run(ratio)) == {}


def test_a_single_pair_is_enough() -> None:
    flags = flags_of(run(1.0, together=2.0))  # 1.41 times on average
    assert set(flags) == {("init", "b", "raw"), ("norm", "r", "raw")}
    assert flags["init", "b", "raw"] == pytest.approx(2.0, rel=0.01)


def test_profiles_are_flagged_as_metrics_are() -> None:
    frames = run()
    profile = frames.metric_info.iloc[[0]].assign(metric="m.flow", form="profile")
    frames = replace(
        frames, metric_info=pd.concat([frames.metric_info, profile], ignore_index=True)
    )
    assert set(flags_of(frames)) == {("init", "b", "raw"), ("init", "b", "m.flow")}


def test_what_was_not_compared_is_not_flagged() -> None:
    frames = run()
    assert flags_of(set_state(frames, frames.trials["seed"] >= 0, "failed")) == {}


def test_a_run_that_does_not_say_what_scales() -> None:
    frames = run()
    old = replace(frames, metric_info=frames.metric_info.drop(columns="scales_with"))
    assert scaling(old) == {}
    assert flags_of(old) == {}


def test_a_size_of_zero_is_beyond_all_bounds() -> None:
    frames = run(scale="linear")
    metrics = frames.metrics.copy()
    zero = metrics["metric"] == "size"
    metrics.loc[zero, "value"] = 0.0
    assert flags_of(replace(frames, metrics=metrics)) == {}  # of nothing no ratio is known
    metrics.loc[zero, "value"] = run(scale="linear").metrics.loc[zero, "value"]
    b = metrics["cell"].isin(frames.cells["cell"].iloc[2:])
    metrics.loc[zero & b, "value"] = 0.0
    (ratio,) = flags_of(replace(frames, metrics=metrics)).values()
    assert flag(ratio) == "sizes differ beyond all bounds: not evidence of flow"


def test_interactions_are_flagged_by_the_interaction_of_sizes() -> None:
    apart = run(16.0)
    assert interaction_flags(apart, interaction_comparisons(apart)) == {}
    both = run(16.0, together=4.0)
    flags = interaction_flags(both, interaction_comparisons(both))
    assert list(flags) == [("init", "b", "norm", "r", "raw")]
    assert flags["init", "b", "norm", "r", "raw"] == pytest.approx(4.0, rel=0.01)


def test_words() -> None:
    assert times(16.0) == times(1 / 16) == "16 times"
    raw, flags = {"raw": "size"}, {("init", "b", "raw"): 16.0}
    assert flag(1 / 20) == "sizes differ 20 times: not evidence of flow"
    assert (
        raw_warning("honest", flags, {})
        == raw_warning("raw", {}, {})
        == raw_note("honest", raw)
        == ""
    )
    assert raw_warning("raw", flags, {"init": {"b": "b"}}) == (
        "raw: sizes differ, so it is not evidence of flow under init = b (16 times)."
    )
    assert raw_note("raw", raw) == (
        " raw is raw: where sizes (size) differ it is no evidence of flow."
    )
    many = {("init", f"l{i}", "raw"): 2.0 for i in range(9)}
    names = {"init": {level: level for _, level, _ in many}}
    assert raw_warning("raw", many, names).endswith("; and 3 more levels.")


def test_flags_stand_beside_the_figures() -> None:
    frames = run()
    effects = comparisons(frames)
    flags = size_flags(frames, effects)
    section = effects_section(effects, primary=True, beside=cautions(frames, effects))
    assert section is not None
    verdict = list(section.columns).index("Verdict")
    verdicts = {
        (metric, row[0]): row[verdict]
        for metric, row in zip(section.groups, section.rows, strict=True)
    }
    assert verdicts["raw", "init: a → b"].startswith("beyond noise; sizes differ 16")
    assert verdicts["raw", "init: a → b"].endswith("times: not evidence of flow")
    assert all("sizes" not in verdict for key, verdict in verdicts.items() if key[1][:4] != "init")
    assert "sizes" not in verdicts["size", "init: a → b"]

    table = effects_table(effects, "raw", flags)
    assert table["name"].to_list() == [f"init = b{DAGGER}", "norm = r"]
    figures = {d.caption.split(",")[0]: d for d in effect_figures(frames, effects)}
    assert (
        "† no evidence, or less than it looks: the table says why."
        in figures["Effects on raw"].caption
    )
    assert figures["Effects on raw"].warning.startswith("raw: sizes differ, so it is not evidence")
    assert "raw is raw: where sizes (size) differ" in figures["Effects on raw"].caption
    assert figures["Effects on size"].warning == ""


def test_a_finding_on_a_raw_figure_says_so_and_leads_nothing() -> None:
    found = [f for f in state_findings(run()) if f.metric == "raw" and f.factor == "init"]
    assert [f.kind for f in found] == ["effect"]
    assert found[0].claim.endswith("; sizes differ 16.0 times: not evidence of flow")
    alike = [f for f in state_findings(run(1.2)) if f.metric == "raw" and f.factor == "init"]
    assert alike[0].claim.endswith("; sizes differ 1.20 times, which may be much of it")
