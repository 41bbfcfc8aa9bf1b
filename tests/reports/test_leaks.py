"""Effects in which a component reads the future are said to be no evidence."""

from dataclasses import replace

import numpy as np

from reports.leaks import leak_flags, leak_warning
from tests.reports.simulated import make_frames

FACTORS = {"attention": ["mha", "leaky"], "norm": ["a", "b"]}


def test_every_effect_that_a_leak_enters_is_flagged() -> None:
    frames = make_frames(FACTORS, {"x": np.arange(8.0).reshape(4, 2)})
    assert leak_flags(frames) == {}
    cells = frames.cells.loc[frames.cells["attention"] == "leaky", "cell"]
    leaking = frames.trials["cell"].isin(cells)
    marks = np.where(leaking, "exploding,leaks", "")
    flags = leak_flags(replace(frames, trials=frames.trials.assign(marks=marks)))
    assert flags == {("attention", "leaky"): (2, 2), ("norm", "b"): (1, 2)}
    assert leak_warning(flags["attention", "leaky"]) == (
        "a component reads the future: no evidence"
    )
    assert leak_warning(flags["norm", "b"]) == (
        "a component reads the future in 1 of 2 pairs: no evidence"
    )
