"""The best learning rate of every setting, as a table and in sentences."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.finding import TRAINING, Finding
from reports.listing import Table, make_table
from reports.panel import REASONS, Panel
from reports.records import records
from reports.training.best_rates import HIGHEST, LOWEST, BestRates
from reports.training.names import FINAL_LOSS, LEARNT, MEASURE, SENSITIVITY, at_best_rate
from reports.wording import counted, listed, number

if TYPE_CHECKING:
    from reports.training.compared import AtBestRate

MAX_SETTINGS = 100

Floats = NDArray[np.float64]


def best_rate_table(at_best: "AtBestRate", data: Panel) -> pd.DataFrame:
    """The best learning rate of each setting, in the grid's order.

    Columns: ``cell``, ``setting``, ``best_rate`` (which all seeds together choose; ``""`` if no
    rate could be), ``edge`` (whether that is the ``lowest`` or the ``highest`` tried, or ``""``),
    ``chosen`` (for each seed the rate that the others choose, by commas), ``n_learnt`` (seeds that
    learnt at the rate chosen for them), ``n_rates_learnt`` (rates at which any seed learnt; both
    NaN where that is not told of a trial), ``final_loss`` (at the chosen rate, mean over seeds),
    ``sensitivity`` (mean over seeds), ``n_seeds`` (with a usable loss), ``n_asked``, and ``state``
    (``""``, or the gravest reason for a loss that is not used). A mean is NaN where a seed lost its
    value.

    Args:
        at_best: The run at its best rates.
        data: `reports.panel.panel` of the run.
    """
    rates = at_best.rates
    metrics = at_best.data.info["metric"].to_list()
    final, sensitivity = (metrics.index(name) for name in (at_best_rate(FINAL_LOSS), SENSITIVITY))
    worst = at_best.data.reason[final].max(axis=1, initial=0)
    names = [*rates.rates, ""]  # the last for −1
    return pd.DataFrame(
        {
            "cell": rates.settings.cells["cell"],
            "setting": rates.settings.labels,
            "best_rate": [names[place] for place in rates.best],
            "edge": rates.edge,
            "chosen": [",".join(names[place] for place in places) for places in rates.chosen],
            **_learnt(rates, data),
            "final_loss": _mean(at_best.data, final),
            "sensitivity": _mean(at_best.data, sensitivity),
            "n_seeds": at_best.data.usable[final].sum(axis=1),
            "n_asked": len(rates.seeds),
            "state": ["" if code == 0 else REASONS[code] for code in worst],
        }
    )


def _mean(data: Panel, index: int) -> Floats:
    """(G,) means over seeds; NaN without any, or where one was lost."""
    usable = data.usable[index]
    lost = (data.reason[index] >= REASONS.index("no value")).any(axis=1)
    total = np.where(usable, data.values[index], 0.0).sum(axis=1)
    count = np.where(lost, 0, usable.sum(axis=1))
    mean: Floats = np.full(len(count), np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def _learnt(rates: BestRates, data: Panel) -> dict[str, Floats]:
    """(G,) how many seeds learnt at the rate chosen for them, and at how many rates any did."""
    metrics = data.info["metric"].to_list()
    learnt = np.full(rates.reason.shape, np.nan)  # (G, R, S)
    if LEARNT in metrics:
        there = (rates.cells >= 0)[..., None]
        learnt = np.where(there, data.values[metrics.index(LEARNT)][rates.cells], np.nan)
    at = np.maximum(rates.chosen, 0)[:, None]
    own = np.where(rates.chosen < 0, np.nan, np.take_along_axis(learnt, at, axis=1)[:, 0])
    unknown = np.isnan(learnt).any(axis=(1, 2))
    n_rates = (learnt > 0).any(axis=2).sum(axis=1)
    return {"n_learnt": own.sum(axis=1), "n_rates_learnt": np.where(unknown, np.nan, n_rates)}


def best_rates_section(table: pd.DataFrame, *, optimistic: bool) -> Table:
    """`best_rate_table` as a table of the page.

    Args:
        table: That table.
        optimistic: Whether rates were chosen on the seed that they are looked at.
    """
    rows = [
        [
            row.setting,
            row.best_rate or "—",
            f"{row.edge} tried" if row.edge else "—",
            _seeds(row.chosen),
            _loss(row),
            "—" if np.isnan(row.n_learnt) else f"{row.n_learnt:.0f} of {row.n_asked}",
            "—" if np.isnan(row.sensitivity) else number(row.sensitivity),
        ]
        for row in records(table.head(MAX_SETTINGS))
    ]
    columns = {
        "Setting": False,
        "Best rate": True,
        "Edge": False,
        "Chosen for the seeds": False,
        "Loss at the chosen rates": True,
        "Learnt at the chosen rates": True,
        "Sensitivity": True,
    }
    how = (
        "As there is one seed, it is also the chosen rate, on the seed that it is looked at, which "
        "is optimistic. "
        if optimistic
        else "For each seed a rate is chosen by the other seeds alone; the loss, and how many "
        "seeds learnt, are those at the chosen rates, where a seed may do worse than at the best "
        "one. "
    )
    caption = (
        "Best rate: the learning rate with the lowest "
        f"{FINAL_LOSS} over all seeds, of each setting of all other factors. {how}"
        f"Loss and sensitivity are means over {counted(int(table['n_asked'].max()), 'seed')}."
    )
    note = ""
    if len(table) > MAX_SETTINGS:
        note = (
            f"The first {MAX_SETTINGS} of {len(table):,} settings; the rest is in "
            "tables/best_rates.csv."
        )
    classes = ["faint" if row.state else "" for row in records(table.head(MAX_SETTINGS))]
    return make_table(caption, columns, rows, classes, note)


def _seeds(chosen: str) -> str:
    """``0.001``, or where seeds differ how many have which rate."""
    rates = [rate or "none" for rate in chosen.split(",")]
    counts = {rate: rates.count(rate) for rate in dict.fromkeys(rates)}
    if len(counts) == 1:
        return rates[0]
    return ", ".join(f"{rate} ({n} of {len(rates)})" for rate, n in counts.items())


def _loss(row: Any) -> str:
    lost = row.n_asked - row.n_seeds
    if np.isnan(row.final_loss):
        return f"{row.state or 'no value'} ({lost} of {row.n_asked})"
    return number(row.final_loss) + (f" ({row.n_seeds} of {row.n_asked} seeds)" if lost else "")


def best_rate_findings(table: pd.DataFrame, *, optimistic: bool) -> Iterator[Finding]:
    """What must be known of the best rates: those at an edge, those that seeds disagree on.

    Args:
        table: `best_rate_table`.
        optimistic: Whether rates were chosen on the seed that they are looked at.
    """
    settings = counted(len(table), "setting")
    known, without = table[table["best_rate"] != ""], table[table["best_rate"] == ""]
    unfit = without["state"] == "skipped"
    for n, why in (
        (int(unfit.sum()), "the grid does not train them at every rate"),
        (int((~unfit).sum()), "no seed has a result at every rate"),
    ):
        if n:
            yield _finding(f"no best learning rate is told of {n:,} of {settings}, as {why}")
    if optimistic:
        yield _finding(
            "there is one seed, so the best learning rate is chosen on the seed that it is looked "
            "at: losses at it are optimistic, and more so the more rates were tried"
        )
    learns = known[known["n_rates_learnt"] != 0]
    if len(learns) < len(known):
        yield _finding(
            f"in {len(known) - len(learns):,} of {settings} no trial learns at any learning rate: "
            "the best one says nothing there, and a low sensitivity is no merit"
        )
    told = [
        f"{int((learns['edge'] == edge).sum()):,} at the {edge}"
        for edge in (LOWEST, HIGHEST)
        if (learns["edge"] == edge).any()
    ]
    if told:
        n_edge = int((learns["edge"] != "").sum())
        yield _finding(
            f"in {n_edge:,} of {settings} the best learning rate is at the edge of the grid "
            f"({listed(told)}), so a better one may lie beyond it"
        )
    differ = [len(set(chosen.split(",")) - {""}) > 1 for chosen in known["chosen"]]
    if any(differ):
        yield _finding(
            f"in {sum(differ):,} of {settings} the rate that is chosen for a seed by the others is "
            "not the same for all seeds, so intervals at it are wider"
        )


def _finding(said: str) -> Finding:
    return Finding(kind=TRAINING, claim=f"{MEASURE}: {said}")
