"""The cells that a grid leaves out, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ablations.grids.document import DataPath, show
from ablations.grids.levels import Levels
from ablations.grids.reading import Reading


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Cells that are left out, by the labels of some factors' levels, and why."""

    when: Mapping[str, str]
    because: str


def read_exclusions(
    reading: Reading, levels: Levels, baseline: Mapping[str, str]
) -> list[Exclusion]:
    """Every exclusion, faults of those that name no cells or give no reason."""
    faults = reading.faults
    found: list[Exclusion] = []
    for i, item in enumerate(reading.data.get("exclude", [])):
        path: DataPath = ("exclude", i)
        if not isinstance(item, dict):
            faults.add(path, f"expected {{factor: level, …, because: text}}, not {show(item)}")
            continue
        because = item.get("because")
        if "because" not in item:
            faults.add(path, "missing key 'because': why these cells are left out")
        elif not isinstance(because, str) or not because.strip():
            words = f"expected text: why these cells are left out, not {show(because)}"
            faults.add((*path, "because"), words)
        named = {
            name: levels.named(name, value, (*path, name))
            for name, value in item.items()
            if name != "because"
        }
        if not named:
            faults.add(path, "names no factor: give a level of one, or leave it out")
        when = {name: label for name, label in named.items() if label is not None}
        if when and len(when) == len(named) and any(when == other.when for other in found):
            faults.add(path, "excludes the same cells as another exclusion")
        away = sum(label != baseline.get(name) for name, label in when.items())
        if reading.data.get("design") == "one_at_a_time" and away > 1:
            words = "has no effect: one_at_a_time has no cell with more than one level away from"
            faults.add(path, f"{words} the baseline")
        found.append(Exclusion(when=when, because=str(because)))
    return found
