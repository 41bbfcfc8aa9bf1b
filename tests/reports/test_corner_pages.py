"""Pages of runs at the edges of what people ask for: each says what there is and what there is not.

Runs in which nothing is done, all failed, or one cell is all there is are in test_page.py too.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd

from reports import Frames
from reports.page import render
from tests.reports.simulated import default_run, empty_run, make_frames, set_state
from tests.reports.test_page import Page

DATE = datetime(2030, 1, 2, 3, 4, tzinfo=UTC)


def sections(frames: Frames) -> dict[str, str]:
    """The text of each section by its name, tags left out."""
    html = render(frames, date=DATE)
    Page(html)
    found = re.findall(r'<section id="(\w+)".*?</section>', html, re.DOTALL)
    parts = re.findall(r'<section id="\w+"[^>]*>(.*?)</section>', html, re.DOTALL)
    return {
        name: re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", part.replace("<wbr>", ""))).strip()
        for name, part in zip(found, parts, strict=True)
    }


def trained(factors: dict[str, list[str]], n_seeds: int = 3) -> Frames:
    """A run with parameters that grow from cell to cell, and a final loss that falls."""
    n_cells = int(np.prod([len(levels) for levels in factors.values()]))
    cost = np.repeat(np.arange(1.0, n_cells + 1)[:, None], n_seeds, axis=1)
    noise = np.random.default_rng(0).normal(0, 0.01, (n_cells, n_seeds))
    values = {"parameters.total": cost, "training.final_loss": 5 - cost / n_cells + noise}
    frames = make_frames(factors, values)
    info = frames.metric_info.assign(
        measure=["parameters", "training"], better=["neither", "lower"]
    )
    trials = [frames.trials.assign(measure=measure) for measure in ("parameters", "training")]
    return replace(frames, metric_info=info, trials=pd.concat(trials, ignore_index=True))


def test_nothing_done() -> None:
    page = sections(empty_run())
    assert "Unfinished: 144 of 144 trials are still to be run." in page["findings"]
    assert "as 408 of 408 paired observations are not used: 408 not run yet" in page["findings"]
    assert "No effect on a primary metric could be estimated." in page["effects"]
    assert "No profile to draw." in page["profiles"]
    assert "tradeoffs" not in page


def test_one_cell() -> None:
    run = default_run(seeds=2)
    first = run.cells["cell"].iloc[0]

    def of_first(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[frame["cell"] == first]

    page = sections(
        replace(
            run,
            cells=of_first(run.cells),
            trials=of_first(run.trials),
            metrics=of_first(run.metrics),
            profiles=of_first(run.profiles),
        )
    )
    assert "as no two cells differ in it alone" in page["findings"]
    assert "in 1 cell, the baseline first" in page["cells"]
    assert "tradeoffs" not in page


def test_all_failed() -> None:
    run = default_run(seeds=2)
    every = pd.Series(True, index=run.trials.index)
    page = sections(set_state(run, every, "failed", message="RuntimeError: boom"))
    assert "no conclusion is drawn about 7 effects" in page["findings"]
    assert "RuntimeError: boom failed gradient_flow 144 72" in page["lost"]
    assert "Parameters were not counted in this run." not in page["parameters"]
    assert "failed (2 of 2)" in page["cells"]
    assert "tradeoffs" not in page


def test_one_metric() -> None:
    run = default_run(seeds=2)
    page = sections(
        replace(
            run,
            trials=run.trials[run.trials["measure"] == "parameters"],
            metrics=run.metrics[run.metrics["metric"] == "parameters.total"],
            profiles=run.profiles.iloc[:0],
            metric_info=run.metric_info[run.metric_info["metric"] == "parameters.total"],
        )
    )
    assert "parameters.total: attention matters most;" in page["findings"]
    assert "No profile to draw." in page["profiles"]
    assert "tradeoffs" not in page


def test_forty_factors() -> None:
    factors = {f"factor {i:02d}": ["a", "b"] if i < 3 else ["a"] for i in range(40)}
    page = sections(trained(factors))
    assert "means over 3 seeds of 8 cells, coloured by factor 00" in page["tradeoffs"]
    assert "Every cell is on it." in page["tradeoffs"]
    assert "factor 02=b" in page["cells"]  # by its label: so many columns have no room


def test_thirty_levels() -> None:
    page = sections(trained({"size": [f"{i}" for i in range(30)], "norm": ["a", "b"]}))
    assert "of 60 cells, coloured by norm" in page["tradeoffs"]  # size has no looks for 30 levels
    assert "size = 29 instead of 0" in page["findings"]


def test_names_of_two_hundred_characters() -> None:
    levels = [f"attention(heads={n}, {'option=value, ' * 13})"[:199] + ")" for n in range(3)]
    assert [len(level) for level in levels] == [200] * 3
    page = sections(trained({"attention": levels, "q" * 200: ["u" * 200, "v" * 200]}))
    for name in ("findings", "tradeoffs"):
        assert not re.search(r"\w{60}|(option=value, ){4}", page[name])
    assert "heads=2" in page["findings"]
    assert levels[2] in page["effects"]  # a table wraps the whole name
