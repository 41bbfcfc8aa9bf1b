"""Profiles along the context: doublings on x, amounts with prefixes on y."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from reports import Frames
from reports.plots.context import amount, context_ticks, tokens
from reports.plots.profile_grid import plot_grid, profile_grid
from reports.plots.profiles import describe_profile, plot_profile
from reports.plots.summary import ProfileTable, profile_table
from tests.reports.simulated import make_frames

CONTEXTS = (64, 512, 2048, 8192, 32768)


def frames(unit: str = "bytes", contexts: tuple[int, ...] = CONTEXTS) -> Frames:
    """Two levels with one row each along the context: a·T, and a quarter of it."""
    made = make_frames({"f": ["whole", "quarter"]}, {"costs.x": np.ones((2, 1))})
    info = made.metric_info.assign(metric="costs.cache", form="profile", scale="log", unit=unit)
    along = pd.DataFrame({"axis": "context", "position": contexts, "step": 0})
    rows = made.trials[["cell", "seed"]].assign(profile="costs.cache").merge(along, how="cross")
    share = np.where(rows["cell"] == rows["cell"].iloc[0], 1.0, 0.25)
    profiles = rows.assign(value=4096.0 * share * rows["position"])
    info = pd.concat([made.metric_info, info], ignore_index=True)
    return replace(made, metric_info=info, profiles=profiles)


def table(run: Frames) -> ProfileTable:
    found = profile_table(run, "costs.cache", ["f"])
    assert found is not None
    return found


def labels(axes: Axes, which: str) -> list[str]:
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(axis.get_view_interval())
    places = [place for place in axis.get_majorticklocs() if low <= place <= high]
    return list(axis.get_major_formatter().format_ticks(places))


def test_both_axes_are_in_ratios_and_have_units() -> None:
    run = frames()
    (axes,) = plot_profile(table(run), run).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_xlabel() == "context (tokens)"
    assert labels(axes, "x") == ["64", "512", "2K", "8K", "32K"]
    assert labels(axes, "y") == ["100 kB", "1 MB", "10 MB", "100 MB"]


def test_panels_side_by_side_label_what_has_room() -> None:
    run = frames("FLOPs/token")
    panels = plot_grid(profile_grid([table(run)] * 2, ["one", "other"]), run).axes
    for axes in panels:
        assert labels(axes, "x") == ["64", "2K", "32K"]
        assert all(label.endswith((" k", " M")) for label in labels(axes, "y"))


def test_a_single_context_is_drawn() -> None:
    run = frames(contexts=(1000,))
    (axes,) = plot_profile(table(run), run).axes
    assert labels(axes, "x") == ["1,000"]


def test_the_words_tell_contexts() -> None:
    alt, _ = describe_profile(table(frames()))
    assert alt == (
        "Line chart of costs.cache by context, by f. whole: from 262,144 at context 64 to "
        "134,217,728 at 32768; quarter: from 65,536 at context 64 to 33,554,432 at 32768."
    )


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (20_000_000, "bytes", "20 MB"),
        (20_000_000, "bytes/token", "20 MB"),
        (20_000_000, "elements", "20 M"),
        (1e12, "bytes", "1 TB"),
        (3e9, "FLOPs/token", "3 G"),
        (999, "bytes", "999 B"),
        (5000, "", "5 k"),
        (0.5, "elements", "0.500"),
    ],
)
def test_amounts(value: float, unit: str, text: str) -> None:
    assert amount(value, unit) == text


@pytest.mark.parametrize(
    ("context", "text"), [(16, "16"), (1000, "1,000"), (1024, "1K"), (131072, "128K")]
)
def test_tokens(context: int, text: str) -> None:
    assert tokens(context) == text


def test_ticks_start_with_the_longest() -> None:
    assert context_ticks([16, 32, 64, 128, 256], 4) == [16, 64, 256]
    assert context_ticks([30_000, 32_768], 5) == [30_000, 32_768]
    assert context_ticks([1, 30_000, 32_768], 5) == [1, 32_768]
