"""Interactions as findings: those that no effect tells already."""

import re

import numpy as np
import pytest

from reports import state_findings
from tests.reports.simulated import interacting, make_frames, twelve_cells

TWO_BY_TWO = {"norm": ["a", "b"], "size": ["1", "2"]}


def plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u2212", "-")


def test_an_interaction_that_no_effect_tells_is_told_by_itself() -> None:
    factors = {f: ["0", "1"] for f in ("norm", "act", "placement", "width")}
    at = np.array(np.unravel_index(np.arange(16), (2, 2, 2, 2)))[:, :, None]
    # What norm and placement depend on most, and besides what they do together.
    flow = np.log(3) * at[0] * at[1] + np.log(3) * at[2] * at[3] + np.log(1.3) * at[0] * at[2]
    noise = np.random.default_rng(1).normal(0, 0.02, size=(16, 5))
    frames = make_frames(factors, {"x": np.exp(flow + noise)}, scale="log")
    found = [f for f in state_findings(frames) if f.kind == "interaction"]
    assert [(f.factor, f.level, f.factor_2, f.level_2) for f in found] == [
        ("norm", "1", "placement", "1")
    ]
    assert re.fullmatch(
        r"x: norm = 1 instead of 0 and placement = 1 instead of 0 interact: together they make it "
        r"1\.\d\d times as large as what they do apart would \(adjusted 95 % interval 1\.\d\d to "
        r"1\.\d\d times; 4 groups of four cells, 5 seeds; same direction in every group; "
        r"exploratory, false discovery rate 5 %\)\.",
        plain(found[0].text),
    )
    assert found[0].low is not None
    kinds = [f.kind for f in state_findings(frames)]
    assert kinds.index("interaction") > max(i for i, k in enumerate(kinds) if k == "effect")


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_planted_interaction_is_reported_whichever_way(scale: str) -> None:
    """Where no main effect is left: by the effects that depend on each other, or by itself."""
    found = state_findings(interacting(scale))
    assert {"norm", "placement"} == {f.factor for f in found if f.kind == "depends"}
    for size in (0.05, 0.08, 0.12, 0.2):
        flow = np.zeros((2, 2, 3))
        flow[0, 0], flow[1, 1] = size, size
        found = state_findings(twelve_cells(flow))
        assert [f for f in found if f.kind in ("depends", "interaction")], size


def test_only_so_many_interactions_are_told_and_the_rest_counted() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(36, 1)) + rng.normal(0, 0.01, size=(36, 5))
    factors = {f: list("123") for f in ("p", "q")} | {f: list("12") for f in ("r", "s")}
    found = [f for f in state_findings(make_frames(factors, {"x": values})) if "nteract" in f.text]
    assert len([f for f in found if f.metric == "x"]) == 3
    assert re.fullmatch(
        r"Of further interactions on primary metrics \d+ lie outside noise \(false discovery rate "
        r"5 %; the table of interactions has them\)\.",
        plain(found[-1].text),
    )


def test_interactions_of_what_no_seed_changes_are_left_to_the_table() -> None:
    values = np.repeat([[10.0], [12.0], [20.0], [31.0]], 2, axis=1)
    found = state_findings(make_frames(TWO_BY_TWO, {"x": values}))
    assert not [f for f in found if f.kind == "interaction"]
