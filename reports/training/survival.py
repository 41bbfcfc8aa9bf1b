"""How the trainings of each setting ended at each learning rate, as tables."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from reports.finding import TRAINING, Finding
from reports.frames import Frames
from reports.listing import Table, make_table
from reports.marks import where
from reports.panel import panel
from reports.records import records
from reports.training.names import LEARNING_RATE, MEASURE
from reports.training.outcomes import RAN, STATES, learning_rates, outcomes, tally
from reports.training.pair_rates import PairRates
from reports.training.settings import settings_without
from reports.training.still_falling import FALLING, FAR, UNKNOWN, still_falling
from reports.wording import counted

MAX_SETTINGS = 100
STALLED, DIVERGED = RAN[1:]


def survival(frames: Frames) -> pd.DataFrame:
    """How many trials of each cell ended how, in the grid's order.

    Columns: ``cell``, ``setting`` (the levels of all factors but the learning rate),
    ``learning_rate`` (``""`` where the grid does not vary it), ``n_trials``, and a count for each
    of `reports.training.outcomes.STATES`, such as ``n_not_run``.
    """
    settings = settings_without(frames, {LEARNING_RATE})
    ended = outcomes(frames)
    counts = pd.crosstab(ended["cell"], ended["state"]).reindex(
        index=range(len(frames.cells)), columns=list(STATES), fill_value=0
    )
    table = pd.DataFrame(
        {
            "cell": frames.cells["cell"],
            "setting": [settings.labels[g] for g in settings.of_cell],
            "learning_rate": frames.cells.get(LEARNING_RATE, ""),
            "n_trials": counts.sum(axis=1).to_numpy(),
        }
    )
    return table.assign(**{column_of(state): counts[state].to_numpy() for state in STATES})


def column_of(state: str) -> str:
    """The column that counts trials that ended so."""
    return f"n_{state.replace(' ', '_')}"


def survival_section(frames: Frames, table: pd.DataFrame | None = None) -> Table | None:
    """A row a setting, a column a learning rate: how the trials of all seeds ended.

    ``table`` is `survival` of the run, if already computed.
    """
    table = survival(frames) if table is None else table
    table = table[table["n_trials"] > 0]
    if table.empty:
        return None
    rates = learning_rates(frames) or [""]
    settings = list(dict.fromkeys(table["setting"]))
    by_place = {(row.setting, row.learning_rate): row for row in records(table)}
    rows = [
        [setting, *(_told(by_place.get((setting, rate))) for rate in rates)]
        for setting in settings[:MAX_SETTINGS]
    ]
    note = ""
    if len(settings) > MAX_SETTINGS:
        note = (
            f"The first {MAX_SETTINGS} of {len(settings):,} settings; the rest is in "
            "tables/survival.csv."
        )
    named = [f"Learning rate {rate}" if rate else "Trials" for rate in rates]
    caption = (
        "How the trials of each setting ended, of "
        f"{counted(frames.trials['seed'].nunique(), 'seed')}: learnt, stalled, diverged (the loss "
        "became infinite or no number), or without a result."
    )
    return make_table(caption, {"Setting": False, **dict.fromkeys(named, False)}, rows, note=note)


def _told(row: Any) -> str:
    """``1 learnt, 2 stalled``."""
    if row is None:
        return "—"
    counts = [(state, int(getattr(row, column_of(state)))) for state in STATES]
    return ", ".join(f"{n:,} {state}" for state, n in counts if n)


def survival_finding(frames: Frames, rates: PairRates | None = None) -> Finding | None:
    """How all trials ended, where those that did not learn are, and at which rate, if at one.

    ``rates`` are those of the run's effects, if already known.
    """
    ended = outcomes(frames)
    if ended.empty:
        return None
    ended = ended.assign(cell=frames.cells["cell"].to_numpy(dtype=object)[ended["cell"]])
    told = [f"{MEASURE}: {tally(ended['state'].value_counts())}"]
    for state in (STALLED, DIVERGED):
        those = ended[ended["state"] == state]
        if len(those):
            told.append(f"{state}: {where(frames, MEASURE, those)}")
            told += _unfinished(frames, those) if state == STALLED else []
    rates = PairRates(frames, panel(frames)) if rates is None else rates
    if rates.only:
        told.append(
            f"losses of {rates.whose} are compared at one learning rate, {rates.only}, which may "
            "suit some better"
        )
    return Finding(kind=TRAINING, claim="; ".join(told))


def _unfinished(frames: Frames, stalled: pd.DataFrame) -> Iterator[str]:
    """What is said of stalled trials that may have had too few steps, or ended nowhere near."""
    falls = still_falling(frames, stalled)
    for state, claim in (
        (FALLING, "the loss of {which} was still falling when they ended"),
        (UNKNOWN, "{which} had too few steps to tell whether their loss was still falling"),
        (FAR, "{which} ended, no longer falling, far above what knowing frequencies alone costs"),
    ):
        those = stalled[falls == state]
        if len(those):
            every = len(those) == len(stalled)
            which = "all of these" if every else f"{len(those):,} of these"
            at = "" if every else f", {where(frames, MEASURE, those)}"
            yield claim.format(which=which) + at
