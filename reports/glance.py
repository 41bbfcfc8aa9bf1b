"""The answer at a glance: of each primary metric which factor matters most, how much, how sure."""

from collections.abc import Sequence
from typing import Any

from reports.finding import DEPENDS, EFFECT, NOISE, UNDECIDED, Finding, Glance
from reports.listing import Table, make_table
from reports.sentences import figure, level_names, others, relative, tells_range
from reports.where import NOWHERE
from reports.wording import PERCENT, bounds, counted, listed, short

MAX_RIVALS = 3
MAX_ALIKE = 12
"""Metrics of which the same is said that are named."""

_NONE = "—"
_OTHERWISE = {
    EFFECT: ("only what is no fair comparison", "see below"),
    DEPENDS: ("no effect on average", "depends on other factors: see below"),
    UNDECIDED: ("no conclusion", "see below"),
    NOISE: ("nothing shown", "inside seed noise"),
}
"""What is said, and how sure it is, of a metric on which no factor leads, the first that holds."""


def glance_of(row: Any, units: dict[str, str], places: str, rivals: Sequence[str]) -> Glance:
    """An effect that leads on its metric, in few words.

    Args:
        row: As `reports.sentences` takes one.
        units: Of each metric.
        places: Where it holds (`reports.where`), if its average is not all there is to say.
        rivals: Factors that may matter as much.
    """
    level, reference = level_names(row)
    much = figure(row, units) + (relative(row) if row.exact else "")
    return Glance(
        matters=f"{short(row.factor)}: {reference} → {level}",
        much=much + (" on average" if tells_range(row) else ""),
        sure=_sure(row, places),
        rivals=tuple(map(short, rivals)),
    )


def _sure(row: Any, places: str) -> str:
    if places and places != NOWHERE:
        said = places if row.exact else f"{places}; 95{PERCENT} intervals"
    elif row.exact:
        said = "exact"
    else:
        said = f"95{PERCENT}: {bounds(row.low, row.high, row.scale, row.estimate)}"
    if tells_range(row) and (not places or places == NOWHERE):
        said += f"; depends on {others(row)}"
    if row.n_dropped:
        said += f"; {counted(row.n_dropped, 'paired observation')} not used"
    return said


def glance_section(findings: Sequence[Finding]) -> Table | None:
    """What leads on each primary metric, in the order in which findings speak of it.

    First those on which something leads; last those that no seed changes. Those of which the same
    is said share a row.
    """
    kinds: dict[str, set[str]] = {}
    leads: dict[str, Glance] = {}
    exact = {finding.metric for finding in findings if finding.exact}
    for finding in findings:
        if finding.metric is None:
            continue
        kinds.setdefault(finding.metric, set()).add(finding.kind)
        if finding.glance is not None:
            leads[finding.metric] = finding.glance
    together: dict[Glance | tuple[str, str], list[str]] = {}
    for metric in sorted(kinds, key=lambda one: (one in exact, one not in leads)):
        words = next((words for kind, words in _OTHERWISE.items() if kind in kinds[metric]), None)
        if metric in exact and kinds[metric] == {NOISE}:
            words = ("unchanged", "exact")
        said = leads.get(metric, words)
        if said is not None:
            together.setdefault(said, []).append(metric)
    if not together:
        return None
    rows = [_row(listed(metrics, limit=MAX_ALIKE), said) for said, metrics in together.items()]
    classes = ["" if isinstance(said, Glance) else "faint" for said in together]
    columns = ["Metric", "Matters most", "By how much", "How sure", "May matter as much"]
    if all(row[-1] == _NONE for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    caption = (
        "Of each primary metric the level that changes it most against its factor's baseline, all "
        "else equal; intervals are adjusted for all effects that were looked at. Sentences below "
        "say at which other levels it holds."
    )
    return make_table(caption, dict.fromkeys(columns, False), rows, classes)


def _row(metrics: str, said: Glance | tuple[str, str]) -> list[str]:
    if isinstance(said, Glance):
        rivals = listed(list(said.rivals), limit=MAX_RIVALS) or _NONE
        return [metrics, said.matters, said.much, said.sure, rivals]
    return [metrics, said[0], _NONE, said[1], _NONE]
