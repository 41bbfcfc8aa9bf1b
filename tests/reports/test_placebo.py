"""A factor that changes nothing but the random draws says what noise alone can do."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Finding, Frames, state_findings
from reports.effects import comparisons
from reports.interactions import interactions
from reports.placebo import PLACEBO
from reports.ranking import rank_factors
from tests.reports.simulated import make_frames, set_state

FACTORS = {"placebo": ["first", "second"], "norm": ["a", "b"], "size": ["1", "2"]}
RNG = np.random.default_rng(0)
NOISE = RNG.normal(0, 0.05, size=(3, 8, 4))
AT = np.array(np.unravel_index(np.arange(8), (2, 2, 2)))[:, :, None].astype(float)  # 0 or 1


def run(effect: float = 0.0, seeds: int = 4) -> Frames:
    """Two primary metrics and an exploratory one; ``effect`` is what placebo does to the first."""
    values = NOISE[:, :, :seeds] + AT[1]
    values[0] += effect * AT[0]
    frames = make_frames(
        FACTORS, {"x": np.exp(values[0]), "y": np.exp(values[1]), "z": np.exp(values[2])},
        scale="log",
    )  # fmt: skip
    info = frames.metric_info.assign(primary=frames.metric_info["metric"] != "z")
    return replace(frames, metric_info=info)


def placebo(frames: Frames) -> tuple[int, Finding]:
    """Where the one finding about the placebo stands, and what it says."""
    found = state_findings(frames)
    about = [i for i, finding in enumerate(found) if finding.kind == PLACEBO]
    assert len(about) == 1
    for finding in found:
        if finding.kind != PLACEBO:
            assert "placebo" not in finding.text
            assert finding.factor != PLACEBO
            assert finding.factor_2 != PLACEBO
    return about[0], found[about[0]]


def plain(finding: Finding) -> str:
    return finding.text.replace("\u00a0", " ").replace("\u2212", "-")


def test_inside_noise_it_is_a_note_at_the_end() -> None:
    frames = run()
    place, finding = placebo(frames)
    assert place == len(state_findings(frames)) - 1
    assert plain(finding) == (
        "placebo: of 3 effects on 3 metrics of a factor that changes nothing but the random draws, "
        "none lies outside noise (0 of 6 interactions with it lie outside noise)."
    )


def test_outside_noise_it_is_a_warning_before_all_else() -> None:
    frames = run(effect=0.5)
    place, finding = placebo(frames)
    assert place == 0
    assert re.fullmatch(
        r"placebo: of 3 effects on 3 metrics of a factor that changes nothing but the random "
        r"draws, 1 lies outside noise \(1 on primary metrics\): x \(1\.6\d times, 1\.\d\d to "
        r"1\.\d\d times\)\. Effects of up to 1\.6\d times on x are what noise alone can give here "
        r"\(0 of 6 interactions with it lie outside noise\)\.",
        plain(finding),
    )
    assert frames.factors["factor"].iloc[0] == PLACEBO
    assert rank_factors(frames, comparisons(frames), "m") == ["norm", "size", PLACEBO]


def test_it_leads_nothing_though_it_is_largest() -> None:
    frames = run(effect=5.0)
    most = [finding for finding in state_findings(frames) if finding.kind == "most"]
    assert [finding.factor for finding in most] == ["norm", "norm"]
    assert "norm matters most" in most[0].text


def test_nothing_depends_on_it() -> None:
    frames = run()
    values = np.exp(NOISE[0] + AT[1] + 3 * AT[0] * AT[1])  # norm does more in the second draws
    # Not even an interaction with it that lies outside noise is told as one of the others.
    shifted = replace(frames, metrics=frames.metrics.copy())
    shifted.metrics.loc[shifted.metrics["metric"] == "x", "value"] = values.ravel()
    table = comparisons(shifted)
    assert PLACEBO not in set(table["varies_with"])
    together = interactions(shifted).set_index(["factor", "level_2", "metric"])
    assert together.loc[(PLACEBO, "b", "x"), "within_noise"] == False  # noqa: E712
    _, finding = placebo(shifted)
    assert "1 of 6 interactions with it lies outside noise" in plain(finding)


def test_tables_and_families_have_it() -> None:
    with_it, without = run(), run()
    kept = without.cells["placebo"] == "first"
    cells = without.cells[kept].drop(columns="placebo")
    without = replace(
        without,
        cells=cells,
        factors=without.factors[without.factors["factor"] != PLACEBO],
        trials=without.trials[without.trials["cell"].isin(cells["cell"])],
        metrics=without.metrics[without.metrics["cell"].isin(cells["cell"])],
    )
    assert PLACEBO in set(comparisons(with_it)["factor"])
    assert PLACEBO in set(interactions(with_it)["factor"])
    assert not [f for f in state_findings(without) if f.kind == PLACEBO]


def test_one_seed_has_no_interval_but_a_size() -> None:
    place, finding = placebo(run(seeds=1))
    assert place == 0
    assert re.fullmatch(
        r"placebo: with one seed no interval can be given for 3 effects on 3 metrics of a factor "
        r"that changes nothing but the random draws; the largest is [+-]\d\.\d+ % on [xyz], and "
        r"effects of that size are what noise alone can give here\.",
        plain(finding),
    )


def test_lost_trials_leave_it_unjudged() -> None:
    frames = run()
    second = frames.cells.set_index("cell")["placebo"].loc[frames.trials["cell"]] == "second"
    lost = set_state(frames, pd.Series(second.to_numpy()), "diverged")
    _, finding = placebo(lost)
    assert plain(finding) == (
        "placebo: none of 3 effects on 3 metrics of a factor that changes nothing but the random "
        "draws can be judged (3 effects not judged: values lost, never there, or alike)."
    )


@pytest.mark.parametrize("seeds", [1, 3])
def test_an_exact_metric_does_not_swell_its_count(seeds: int) -> None:
    values = np.repeat(10.0 + AT[1], seeds, axis=1)
    frames = make_frames(FACTORS, {"x": values})
    exact = replace(frames, metric_info=frames.metric_info.assign(exact=True))
    assert not [f for f in state_findings(exact) if f.kind == PLACEBO]
    # A count that random draws change is a fault that must be seen.
    changed = make_frames(FACTORS, {"x": values + AT[0]})
    changed = replace(changed, metric_info=changed.metric_info.assign(exact=True))
    place, finding = placebo(changed)
    assert place == 0
    assert "1 lies outside noise (1 on primary metrics): x (+1 unit, exact)." in plain(finding)
