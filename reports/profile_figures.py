"""The figures of the profiles of a page: which there are, and in which order."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import pandas as pd

from reports.curves import Curve, curves
from reports.frames import Frames
from reports.pairs import told_levels
from reports.plots.data import figure_data
from reports.plots.profile_grid import describe_grid, plot_grid, profile_grid
from reports.plots.profiles import describe_profile, plot_profile
from reports.plots.style import Drawing, Plot, draw
from reports.plots.summary import ProfileTable, profile_table
from reports.profile_groups import Group, profile_groups
from reports.ranking import importance, rank_factors
from reports.sizes import raw_note, raw_warning, scaling, size_flags
from reports.wording import listed


@dataclass(frozen=True, kw_only=True)
class ProfileFigures:
    """The figures to show, those to fold away, and what is not drawn."""

    shown: list[Drawing]
    by_role: list[Drawing]
    note: str


def _ranking(frames: Frames, effects: pd.DataFrame, measure: str, raw: set[str]) -> list[str]:
    """Factors by what is shown of them; on raw metrics only where nothing else is shown.

    A factor that leads on raw figures may lead by sizes alone.
    """
    info = frames.metric_info
    primary = info.loc[(info["measure"] == measure) & info["primary"], "metric"]
    honest = effects[effects["metric"].isin(set(primary) - raw)]
    return rank_factors(frames, honest if importance(honest).any() else effects, measure)


class _Drawer:
    """Draws profiles of one run."""

    def __init__(self, frames: Frames, effects: pd.DataFrame) -> None:
        self.frames = frames
        self.data: Mapping[str, Curve] = curves(frames)
        self._raw = scaling(frames)
        self._flags = size_flags(frames, effects)
        self._names = told_levels(frames)
        self._rankings = {
            measure: _ranking(frames, effects, measure, set(self._raw))
            for measure in dict.fromkeys(curve.about.measure for curve in self.data.values())
        }

    def _table(self, name: str, n_factors: int) -> ProfileTable | None:
        curve = self.data[name]
        ranking = self._rankings[curve.about.measure][:n_factors]
        return profile_table(self.frames, name, ranking, curve)

    def _draw(
        self, plot: Plot, tables: Mapping[str, ProfileTable], what: str, alt: str, caption: str
    ) -> Drawing:
        metrics = dict.fromkeys(self.data[name].about.metric for name in tables)
        warnings = [raw_warning(metric, self._flags, self._names) for metric in metrics]
        caption += "".join(raw_note(metric, self._raw) for metric in metrics)
        rows = [table.rows.assign(profile=name) for name, table in tables.items()]
        data = figure_data(what, "tables/profiles.csv", pd.concat(rows, ignore_index=True))
        warning = " ".join(filter(None, warnings))
        return draw(plot, alt=alt, caption=caption, data=data, warning=warning)

    def alone(self, name: str) -> Drawing | None:
        """A profile by two factors."""
        table = self._table(name, 2)
        if table is None:
            return None
        alt, caption = describe_profile(table)
        plot = partial(plot_profile, table, self.frames)
        return self._draw(plot, {name: table}, name, alt, caption)

    def together(
        self, group: Group, what: str, *, same_ratio: bool = False, same_limits: bool = False
    ) -> Drawing | None:
        """The profiles of a group by one factor."""
        found = [(self._table(p, 1), n) for p, n in zip(group.profiles, group.names, strict=True)]
        drawn = [(table, name) for table, name in found if table is not None]
        if not drawn:
            return None
        tables = [table for table, _ in drawn]
        grid = profile_grid(
            tables,
            [name for _, name in drawn],
            same_ratio=same_ratio and all(table.scale == "log" for table in tables),
            same_limits=same_limits,
        )
        alt, caption = describe_grid(grid, what)
        plot = partial(plot_grid, grid, self.frames)
        of_profile = dict(zip(group.profiles, tables, strict=True))
        return self._draw(plot, of_profile, what, alt, caption)


def profile_figures(frames: Frames, effects: pd.DataFrame) -> ProfileFigures:
    """Every profile with a usable value, as `reports.profile_groups` arranges them."""
    drawer = _Drawer(frames, effects)
    groups = profile_groups(frames, drawer.data)
    shown = [drawer.alone(name) for name in groups.alone]
    shown += [drawer.together(group, f"profiles of {group.measure}") for group in groups.together]
    for group in groups.at_steps:
        what = f"profiles of {drawer.data[group.profiles[0]].about.metric} at training steps"
        shown.append(drawer.together(group, what, same_limits=True))
    by_role = [
        drawer.together(
            group,
            f"gradients of each block's parameters by role "
            f"({drawer.data[group.profiles[0]].about.unit})",
            same_ratio=True,
        )
        for group in groups.by_role
    ]
    note = ""
    if groups.constant:
        note += f"The same all along in every trial, not drawn: {listed(list(groups.constant))}. "
    if groups.left_out:
        note += f"Not drawn for room: {listed(list(groups.left_out), 40)}. "
    if note:
        note += "Every value is in tables/profiles.csv."
    return ProfileFigures(
        shown=[drawing for drawing in shown if drawing is not None],
        by_role=[drawing for drawing in by_role if drawing is not None],
        note=note,
    )
