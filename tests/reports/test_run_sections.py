"""Conventions of a run: what metrics of a measure share is said once, above them."""

from dataclasses import replace

import numpy as np
import pandas as pd

from reports import Frames
from reports.run_sections import conventions_section
from tests.reports.simulated import make_frames


def told(conventions: list[str], measures: list[str], raw: list[str] | None = None) -> Frames:
    """A run with a metric for each convention."""
    names = [f"m.{letter}" for letter, _ in zip("abcdef", conventions, strict=False)]
    frames = make_frames({"norm": ["l", "r"]}, {name: np.ones((2, 2)) for name in names})
    sizes = pd.Series(raw or [""] * len(names), dtype=object)
    info = frames.metric_info.assign(
        convention=conventions, measure=measures, scales_with=sizes, summary="What it is."
    )
    return replace(frames, metric_info=info)


def shown(*runs: Frames) -> list[tuple[str, str, str]]:
    """Heading, name and what else is said of each row."""
    table = conventions_section(*runs)
    assert table is not None
    return [(group, row[0], row[-1]) for group, row in zip(table.groups, table.rows, strict=True)]


def test_what_all_metrics_of_a_measure_share_stands_above_them_and_nothing_is_left_out() -> None:
    frames = told(
        ["first; of a pass; float32.", "of a pass; float32", "of a pass; float32; last", "a; b"],
        ["flow", "flow", "flow", "other"],
        ["m.b", "", "", ""],
    )
    flow = "flow: of a pass; float32"
    assert shown(frames) == [
        (
            flow,
            "m.a",
            "What it is. Convention: first; raw: compare only where m.b is equal.",
        ),
        (flow, "m.b", "What it is."),
        (flow, "m.c", "What it is. Convention: last."),
        ("other", "m.d", "What it is. Convention: a; b."),  # alone it shares nothing
    ]


def test_what_only_some_share_stays_with_each() -> None:
    frames = told(["a; b", "b; c", ""], ["flow"] * 3)
    assert shown(frames) == [
        ("flow", "m.a", "What it is. Convention: a; b."),
        ("flow", "m.b", "What it is. Convention: b; c."),
        ("flow", "m.c", "What it is."),
    ]


def test_what_was_made_of_a_run_shares_nothing_with_it() -> None:
    made = told(["best; x", "worst; x"], ["flow"] * 2)
    assert shown(told(["a", "a"], ["flow"] * 2), made) == [
        ("flow: a", "m.a", "What it is."),
        ("flow: a", "m.b", "What it is."),
        ("flow: x", "m.a", "What it is. Convention: best."),
        ("flow: x", "m.b", "What it is. Convention: worst."),
    ]


def test_without_metrics_there_is_no_table() -> None:
    frames = told(["a"], ["flow"])
    metrics, info = frames.metrics.iloc[:0], frames.metric_info.iloc[:0]
    assert conventions_section(replace(frames, metrics=metrics, metric_info=info)) is None
