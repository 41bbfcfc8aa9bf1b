"""Effects in which a faulty component takes part say so, and no others."""

from dataclasses import replace

import numpy as np
import pytest

from reports import Frames
from reports.leaks import faulty_effects, faulty_interactions
from tests.reports.simulated import make_frames

FACTORS = {"norm": ["plain", "leak", "odd"], "placement": ["pre", "post"]}


@pytest.fixture
def frames() -> Frames:
    """All that use `leak` read the future, all that use `odd` break a contract."""
    found = make_frames(FACTORS, {"x": np.arange(12.0).reshape(6, 2)})
    norm = found.cells.set_index("cell").loc[found.trials["cell"], "norm"].to_numpy()
    marks = np.select([norm == "leak", norm == "odd"], ["exploding,leaks", "nonconforming"], "")
    return replace(found, trials=found.trials.assign(marks=marks))


def test_every_effect_that_a_fault_enters_says_so(frames: Frames) -> None:
    assert faulty_effects(frames) == {
        ("norm", "leak"): "a component reads the future: no evidence",
        ("norm", "odd"): "a component breaks a contract of its kind",
        ("placement", "post"): (
            "a component reads the future in 1 of 3 pairs: no evidence; "
            "a component breaks a contract of its kind in 1 of 3 pairs"
        ),
    }


def test_interactions_are_told_by_their_own_cells(frames: Frames) -> None:
    assert faulty_interactions(frames) == {
        ("norm", "leak", "placement", "post"): "a component reads the future: no evidence",
        ("norm", "odd", "placement", "post"): "a component breaks a contract of its kind",
    }


def test_without_marks_nothing_is_said(frames: Frames) -> None:
    clean = replace(frames, trials=frames.trials.assign(marks=""))
    assert faulty_effects(clean) == faulty_interactions(clean) == {}
