"""A profile along depth, steps or context, on one axes."""

from matplotlib.axes import Axes

from reports.frames import Frames
from reports.pairs import factor_names
from reports.plots import summary
from reports.plots.axis import value_axis
from reports.plots.on_axes.given import given_or_new, with_plain_texts
from reports.plots.profiles import X_LABEL, block_ticks, draw_line
from reports.plots.style import LIGHT, drawable, drawable_names, nth_style
from reports.plots.summary import ProfileTable


def profile_table(frames: Frames, profile: str, by: str | None = None) -> ProfileTable:
    """Means of a profile over all cells and seeds, or by the levels of one factor.

    Args:
        frames: A run.
        profile: Which, such as `gradient_flow.sensitivity`.
        by: The factor told by colour; none if None.

    Raises:
        ValueError: There is no such profile or factor, or no usable value of it.
    """
    info = frames.metric_info
    known = sorted(info.loc[info["form"] == "profile", "metric"])
    if profile not in known:
        raise ValueError(f"profile: expected one of {known}, got {profile!r}")
    factors = factor_names(frames)
    if by is not None and by not in factors:
        raise ValueError(f"by: expected one of {factors}, got {by!r}")
    table = summary.profile_table(frames, profile, [] if by is None else [by])
    if table is None:
        raise ValueError(f"profile: no trial left a usable value of {profile!r}")
    return table


def plot_profile(table: ProfileTable, ax: Axes | None = None) -> Axes:
    """A line a level: its mean, and a band from the 10th to the 90th percentile of its trials.

    >>> ax = plot_profile(profile_table(frames, "gradient_flow.sensitivity", by="placement"))

    Args:
        table: `profile_table` of a run.
        ax: Where to draw; a new figure if None.
    """
    ax = given_or_new(ax)
    told = drawable_names(table.rows["hue"].unique(), 24)
    handles = []
    for number, (level, rows) in enumerate(table.rows.groupby("hue", sort=False)):
        look = nth_style(number)
        handles.append(draw_line(ax, rows, look, told[str(level)], LIGHT, table.axis))
    if table.scale == "log":
        ax.set_yscale("log")
    value_axis(ax, "y", table.scale)
    if table.axis == "depth":
        ax.set_xticks(block_ticks(int(table.rows["x"].max())))
    ax.set_xlabel(X_LABEL[table.axis])
    ax.set_ylabel(drawable(table.unit))
    ax.set_title(f"{drawable(table.profile)} (n = {table.n_trials:,} trials)", fontsize=10)
    ax.grid(axis="y", alpha=0.5)
    if table.hue:
        ax.legend(handles=handles, title=drawable(table.hue), frameon=False)
    return with_plain_texts(ax)
