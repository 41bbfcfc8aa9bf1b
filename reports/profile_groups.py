"""Which profiles a page draws alone, which together, and which not at all."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reports.curves import Curve
from reports.frames import Frames
from reports.training.names import LOSS_CURVE

MAX_ALONE = 6
MAX_TOGETHER = 8
MAX_GROUPS = 8

_BY_ROLE = re.compile(r"(?P<measure>.+)\.(?P<role>\w+)_gradient_(?P<size>norm|rms)")
_LEAST_ROLES = 3


@dataclass(frozen=True, kw_only=True)
class Group:
    """Profiles that one figure shows, a panel each; ``names`` are the titles of the panels."""

    measure: str
    profiles: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Groups:
    """How the profiles of a run are drawn, each in at most one place.

    Attributes:
        alone: Drawn by two factors each.
        together: Those of one measure.
        at_steps: One profile at several training steps.
        by_role: Parameter gradients by what the parameters are, one group for each size.
        constant: Not drawn, as no trial changes along the axis.
        left_out: Not drawn, as there would be too many figures.
    """

    alone: tuple[str, ...]
    together: tuple[Group, ...]
    at_steps: tuple[Group, ...]
    by_role: tuple[Group, ...]
    constant: tuple[str, ...]
    left_out: tuple[str, ...]


def profile_groups(frames: Frames, data: Mapping[str, Curve]) -> Groups:
    """Arrange the profiles that have values, but for the loss of a training.

    That is drawn with what became of each trial (`reports.plots.loss_curves`). Of a profile taken
    at more than `MAX_TOGETHER` training steps some between the first and the last are left out.

    Alone are those that tell a primary metric along their axis, that is share its name or begin
    it, as ``sensitivity`` begins ``sensitivity_ratio``; of a measure without any its first profile.
    Sensitivity comes before everything else, the rest as declared.

    Args:
        frames: The run.
        data: `reports.curves.curves` of it.
    """
    names = [name for name, curve in data.items() if curve.n_trials and name != LOSS_CURVE]
    moving = {data[name].about.metric for name in names if not data[name].same_everywhere}
    constant = [name for name in names if data[name].about.metric not in moving]
    names = [name for name in names if name not in constant]
    stepped = [name for name in names if data[name].at_step is not None]
    at_steps = _steps(stepped, data)[:MAX_GROUPS]
    drawn = {name for group in at_steps for name in group.profiles}
    names = [name for name in names if name not in stepped]
    by_role = _roles(names, data)
    in_role = {name for group in by_role for name in group.profiles}
    rest = [name for name in names if name not in in_role]
    alone = _alone(frames, rest, data)
    others = [name for name in rest if name not in alone]
    together: list[Group] = []
    for measure in dict.fromkeys(data[name].about.measure for name in others):
        mine = [name for name in others if data[name].about.measure == measure]
        together += [
            Group(
                measure=measure,
                profiles=tuple(some),
                names=tuple(name.removeprefix(f"{measure}.") for name in some),
            )
            for some in (mine[i : i + MAX_TOGETHER] for i in range(0, len(mine), MAX_TOGETHER))
        ]
    return Groups(
        alone=tuple(alone),
        together=tuple(together[:MAX_GROUPS]),
        at_steps=tuple(at_steps),
        by_role=tuple(by_role[:MAX_GROUPS]),
        constant=tuple(constant),
        left_out=(
            *(
                name
                for group in (*together[MAX_GROUPS:], *by_role[MAX_GROUPS:])
                for name in group.profiles
            ),
            *(name for name in stepped if name not in drawn),
        ),
    )


def _alone(frames: Frames, names: list[str], data: Mapping[str, Curve]) -> list[str]:
    info = frames.metric_info
    primary = list(info.loc[(info["form"] == "metric") & info["primary"], "metric"])
    telling = [
        name
        for name in names
        if data[name].about.primary or any(m == name or m.startswith(f"{name}_") for m in primary)
    ]
    told = {data[name].about.measure for name in telling}
    for name in names:
        if data[name].about.measure not in told:
            told.add(data[name].about.measure)
            telling.append(name)
    place = {name: number for number, name in enumerate(data)}
    telling.sort(key=lambda name: ("sensitivity" not in name, place[name]))
    return telling[:MAX_ALONE]


def _steps(names: list[str], data: Mapping[str, Curve]) -> list[Group]:
    """A group for each profile, sensitivity first."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(data[name].about.metric, []).append(name)
    groups: list[Group] = []
    for members in found.values():
        n_kept = min(len(members), MAX_TOGETHER)
        kept = [members[round(i)] for i in np.linspace(0, len(members) - 1, n_kept)]
        groups.append(
            Group(
                measure=data[kept[0]].about.measure,
                profiles=tuple(kept),
                names=tuple(f"step {data[name].at_step:,}" for name in kept),
            )
        )
    return sorted(groups, key=lambda group: "sensitivity" not in group.profiles[0])


def _roles(names: list[str], data: Mapping[str, Curve]) -> list[Group]:
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name in names:
        parts = _BY_ROLE.fullmatch(name)
        if parts:
            key = (parts["measure"], parts["size"])
            found.setdefault(key, []).append((name, parts["role"]))
    return [
        Group(
            measure=data[members[0][0]].about.measure,
            profiles=tuple(name for name, _ in members),
            names=tuple(role for _, role in members),
        )
        for members in found.values()
        if len(members) >= _LEAST_ROLES
    ]
