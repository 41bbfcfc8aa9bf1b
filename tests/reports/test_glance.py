"""The answer at a glance says what the findings say, and no more."""

import re
from dataclasses import replace

import numpy as np
import pytest

from reports import Finding, Frames, state_findings
from reports.finding import DEPENDS, EFFECT, EXPLORATORY, NOISE, UNDECIDED
from reports.glance import glance_section
from tests.reports.simulated import default_run, interacting, make_frames, set_state

TWO_BY_TWO = {"norm": ["a", "b"], "size": ["1", "2"]}
NOISE_OF = np.random.default_rng(1).normal(0, 0.05, size=(4, 4))


def rows(frames: Frames) -> list[list[str]]:
    table = glance_section(state_findings(frames))
    assert table is not None
    return [[plain(text) for text in row] for row in table.rows]


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u2212", "-")


def run(shift: list[float], noise: np.ndarray = NOISE_OF) -> Frames:
    return make_frames(TWO_BY_TWO, {"x": np.exp(np.array(shift)[:, None] + noise)}, scale="log")


def test_a_row_a_primary_metric_with_what_leads_on_it() -> None:
    found = state_findings(default_run())
    table = glance_section(found)
    assert table is not None
    assert table.columns == ["Metric", "Matters most", "By how much", "How sure"]
    said = {row[0]: [plain(text) for text in row[1:]] for row in table.rows}
    leads = {f.metric: f for f in found if f.kind == "most"}
    assert said.keys() == leads.keys()
    assert said["parameters.total"][0] == "attention: mha → mqa"
    assert said["parameters.total"][2] == "exact"
    change, much, sure = said["gradient_flow.embedding"]
    assert change == "placement: pre → post"
    assert re.fullmatch(r"2\.\d\d times", much)
    assert re.fullmatch(r"95 %: 2\.\d\d to 2\.\d\d times", sure)
    assert f"interval {sure.removeprefix('95 %: ')}" in plain(leads["gradient_flow.embedding"].text)


def test_where_an_effect_holds_stands_in_place_of_its_averages_interval() -> None:
    ((_, change, much, sure, rivals),) = rows(run([0, 0, 1, -0.2], NOISE_OF / 50))
    assert change == "size: 1 → 2"
    assert re.fullmatch(r"0\.5\d+ times on average", much)
    assert re.fullmatch(
        r"shown only with norm = b \(0\.3\d+ times, .*\); not shown with a \(.*\); 95 % intervals",
        sure,
    )
    assert rivals == "norm"


def test_factors_that_may_matter_as_much_are_named() -> None:
    ((_, change, _, _, rivals),) = rows(run([0, 0.5, 0.55, 1.05]))
    assert (change, rivals) == ("norm: a → b", "size")


def test_nothing_shown_and_no_conclusion_are_said() -> None:
    assert rows(run([0, 0, 0, 0])) == [["x", "nothing shown", "—", "inside seed noise"]]
    frames = run([0, 0, 1, 1])
    lost = set_state(frames, frames.trials["cell"].isin(frames.cells["cell"][2:]), "diverged")
    ((metric, said, much, sure),) = rows(lost)
    assert (metric, said, much, sure) == ("x", "no conclusion", "—", "see below")


def test_an_effect_that_cancels_is_no_nothing() -> None:
    frames = interacting("log")
    alone = [f for f in state_findings(frames) if f.kind != "most"]
    table = glance_section(alone)
    assert table is not None
    assert table.rows == [["x", "no effect on average", "—", "depends on other factors: see below"]]


def test_what_is_not_used_is_counted() -> None:
    frames = run([0, 0, 1, 1])
    one = (frames.trials["cell"] == frames.cells["cell"][0]) & (frames.trials["seed"] == 0)
    ((_, _, _, sure, *_),) = rows(set_state(frames, one, "missing"))
    assert re.search(r"; \d paired observations? not used$", sure)


@pytest.mark.parametrize("kind", [DEPENDS, UNDECIDED, NOISE])
def test_no_finding_of_a_metric_makes_no_row(kind: str) -> None:
    assert glance_section([]) is None
    assert glance_section([Finding(kind=EXPLORATORY, claim="much")]) is None
    table = glance_section([Finding(kind=kind, claim="x", metric="x")])
    assert table is not None
    assert len(table.rows) == 1


def test_one_seed_is_no_certainty() -> None:
    frames = run([0, 0, 1, 1])
    one = frames.trials["seed"] == 0
    frames = replace(
        frames, trials=frames.trials[one], metrics=frames.metrics[frames.metrics["seed"] == 0]
    )
    assert rows(frames) == [["x", "no conclusion", "—", "see below"]]


def test_what_was_known_before_anything_ran_comes_last() -> None:
    """A count of parameters, however large; a difference tells its share, as its finding does."""
    counts = np.repeat([[1000.0], [1000.0], [871.0], [871.0]], 4, axis=1)
    small = np.exp(np.array([0, 0, 0.05, 0.05])[:, None] + NOISE_OF / 50)
    frames = make_frames(TWO_BY_TWO, {"parameters": counts, "x": small, "still": NOISE_OF})
    said = rows(frames)
    assert [row[0] for row in said] == ["x", "still", "parameters"]
    assert said[2][2:4] == ["-129 unit, 12.9 % less", "exact"]
    constant = make_frames(TWO_BY_TWO, {"count": np.ones((4, 4)), "still": NOISE_OF})
    assert [row[0] for row in rows(constant)] == ["still", "count"]


def test_metrics_of_which_the_same_is_said_share_a_row() -> None:
    other = np.random.default_rng(5).normal(0, 0.05, size=(4, 4))
    frames = make_frames(TWO_BY_TWO, {"x": NOISE_OF, "y": other})
    assert rows(frames) == [["x and y", "nothing shown", "—", "inside seed noise"]]


def test_an_exact_metric_that_nothing_changes_is_not_noise() -> None:
    frames = make_frames(TWO_BY_TWO, {"x": np.full((4, 4), 7.0)})
    assert all(f.exact for f in state_findings(frames) if f.metric == "x")
    assert rows(frames) == [["x", "unchanged", "—", "exact"]]


def test_an_effect_that_is_no_evidence_is_not_taken_for_none() -> None:
    doubted = Finding(kind=EFFECT, claim="x: more; sizes differ", metric="x")
    noise = Finding(kind=NOISE, claim="x: inside seed noise", metric="x")
    table = glance_section([doubted, noise])
    assert table is not None
    assert table.rows == [["x", "only what is no fair comparison", "—", "see below"]]
