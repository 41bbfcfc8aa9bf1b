"""Which effects of a run are others in another run, beyond noise.

Shapes: M metrics, C cells, S seeds.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from reports.adjustment import estimated_rows, exact_rows
from reports.comparison.joined import in_order_of, joint
from reports.comparison.rates import ComparedRates
from reports.estimates import DROPPED, Floats, estimates
from reports.frames import Frames
from reports.intervals import false_coverage_levels, half_widths, holm_levels, p_values
from reports.pairs import Contrast, pairs
from reports.panel import Panel
from reports.possible import clipped
from reports.records import records
from reports.training.at_best_rate import TAKEN
from reports.training.compared import AtBestRate, Compared
from reports.training.names import BEST_RATE, SENSITIVITY, at_best_rate

KEY = ["factor", "level", "reference", "metric"]
PAIRED, APART = "paired", "apart"
"""How two effects are compared: over the cells and seeds that both have, or as two samples."""

_SUFFIXES = ("_1", "_2")
_OF_EACH = ("estimate", "low", "high", "within_noise", "n_pairs", "n_seeds")


def moved_effects(first: Compared, second: Compared, metrics: Sequence[str]) -> pd.DataFrame:
    """How much each effect that both runs have is another in the second run.

    Where both hold some pairs of the same two cells, with two or more of the same seeds, these are
    compared pair by pair and seed by seed, and all else is left out: the interval is Student's t on
    the seeds' means of the differences. Elsewhere it is Welch's on the seeds' means of each effect
    (Welch 1947, Biometrika 34). Intervals are adjusted by Holm over the effects on metrics that are
    primary in both, by Benjamini–Hochberg over the others. What no seed changes is compared
    exactly.

    Where both runs try the same learning rates, effects with each setting at its own best rate are
    compared too, and adjusted together with the others.

    Args:
        first: A run, as `reports.training.compared.compare` makes it.
        second: Another run.
        metrics: Metrics that can be compared: of one unit and scale in both.

    Returns:
        A row for each factor, level, reference and metric of both: `KEY`, ``unit``, ``scale``,
        ``primary``, ``exact``, ``how`` (`PAIRED` or `APART`), ``estimate``, ``low`` and ``high``
        (what the effect of the second run is beyond that of the first: a difference, or a ratio on
        a log scale), ``within_noise`` (NA without an interval), ``rates`` (the learning rates of
        the trainings that it is seen in, in words), ``caution`` (what is said against either of
        them), ``n_pairs`` and ``n_seeds`` (that both have; of two samples those of the
        smaller), ``lost`` (trials diverged, failed or gave no value, so that nothing is concluded),
        and of each run's own effect ``estimate_1``, ``low_1``, ``high_1``, ``within_noise_1``,
        ``n_pairs_1``, ``n_seeds_1`` and ``…_2``.
    """
    table = _moved(first, second, metrics)
    one, other = first.at_best, second.at_best
    if one and other and not_at_best(one, other) is None:
        taken = [at_best_rate(metric) for metric in TAKEN if metric in metrics]
        own = _moved(one, other, [*taken, BEST_RATE, SENSITIVITY])
        table = pd.concat([table, own], ignore_index=True) if len(own) else table
    return _with_intervals(table)


def not_at_best(first: AtBestRate | None, second: AtBestRate | None) -> str | None:
    """Why two runs are not compared with each setting at its own best learning rate; None where
    they are."""
    if first is None or second is None:
        who = "neither run tries" if first is second else "one of the runs does not try"
        return f"{who} several learning rates for each setting"
    if first.rates.rates != second.rates.rates:
        return "the runs try different learning rates"
    return None


def _moved(
    first: Compared | AtBestRate, second: Compared | AtBestRate, metrics: Sequence[str]
) -> pd.DataFrame:
    """The rows of two runs, without intervals."""
    sides = (first, second)
    measured = [set(side.data.info["metric"]) for side in sides]  # not what means nothing in a run
    panels = [side.data.only(*measured[0].intersection(metrics, measured[1])) for side in sides]
    panels[1] = in_order_of(panels[0], panels[1])
    both = first.effects.merge(second.effects, on=KEY, suffixes=_SUFFIXES)
    both = both[both["metric"].isin(panels[0].info["metric"])].reset_index(drop=True)
    keys = pd.MultiIndex.from_frame(both[KEY])
    together, common = joint(*panels), _common(first.frames, second.frames)
    of_pairs, of_runs = _paired(together, common), _apart(first.frames, second.frames, panels)
    paired = of_pairs.set_index(KEY).reindex(keys).reset_index(drop=True)
    apart = of_runs.set_index(KEY).reindex(keys).reset_index(drop=True)
    exact = (both["exact_1"] & both["exact_2"]).to_numpy(dtype=bool)
    use = ((paired["n_seeds"] >= np.where(exact, 1, 2)) & (paired["n_pairs"] > 0)).to_numpy(bool)
    table = both[KEY].assign(
        unit=both["metric"].map(panels[0].info.set_index("metric")["unit"]),
        scale=both["scale_1"],
        primary=both["primary_1"] & both["primary_2"],
        exact=exact,
        how=pd.Series(np.where(use, PAIRED, APART), dtype=object),
        **{name: np.where(use, paired[name], apart[name]) for name in _WORKED},
    )
    table = table.astype({"unchanged": bool, "steady": bool, "lost": bool})
    table = table.astype({"n_pairs": np.int64, "n_seeds": np.int64})
    of_each = {f"{name}{s}": both[f"{name}{s}"] for s in _SUFFIXES for name in _OF_EACH}
    rates = [""] * len(table)
    if isinstance(first, Compared) and isinstance(second, Compared):
        cells = {(one.names["factor"], one.names["level"]): one.cells for one in common}
        known = ComparedRates((first, second), together, cells)
        rates = [known.told(row, paired=row.how == PAIRED) for row in records(table)]
    told = [_caution(sides, tuple(key)) for key in both[[*KEY[:2], KEY[3]]].to_numpy()]
    return table.assign(
        rates=pd.Series(rates, dtype=object), caution=pd.Series(told, dtype=object), **of_each
    )


def _caution(sides: Sequence[Compared | AtBestRate], key: tuple[str, str, str]) -> str:
    """What is said against an effect, and of which run."""
    found = []
    for side in sides:
        flatters = isinstance(side, AtBestRate) and side.rates.optimistic
        words = "its rate is chosen in its only seed, which flatters" if flatters else ""
        found.append("; ".join(filter(None, [side.beside.get(key, ""), words])))
    if found[0] == found[1]:
        return found[0]
    runs = ("first run", "second run")
    return "; ".join(f"{run}: {text}" for run, text in zip(runs, found, strict=True) if text)


_WORKED = (
    "mean",
    "error",
    "degrees",
    "unchanged",
    "steady",
    "lost",
    "n_pairs",
    "n_seeds",
    "largest_difference",
)
_LOST = [DROPPED[reason] for reason in ("diverged", "failed", "no value")]


def _common(first: Frames, second: Frames) -> list[Contrast]:
    """The pairs of cells that both runs have: each in the second run, then in the first."""
    found = [_by_cells(frames) for frames in (first, second)]
    n_first = len(first.cells)
    contrasts = []
    for names in sorted(found[0].keys() & found[1].keys()):
        one, other = found[0][names], found[1][names]
        common = [pair for pair in one if pair in other]
        rows = [(*(n_first + i for i in other[pair]), *one[pair]) for pair in common]
        contrasts.append(
            Contrast(
                names=dict(zip(KEY[:3], names, strict=True)),
                cells=np.array(rows, dtype=np.intp).reshape(-1, 4).T,
            )
        )
    return contrasts


def _paired(both: Panel, common: Sequence[Contrast]) -> pd.DataFrame:
    """The differences over the pairs of cells and the seeds that both have."""
    table = estimates(both, common, KEY[:3])
    return table.assign(degrees=table["n_seeds"] - 1.0, lost=(table[_LOST] > 0).any(axis=1))


def _by_cells(
    frames: Frames,
) -> dict[tuple[str, ...], dict[tuple[str, str], tuple[int, int]]]:
    """By factor, level and reference: the rows of each pair of cells, by what the cells are."""
    cells = frames.cells["cell"].to_numpy(dtype=object)
    return {
        tuple(contrast.names[name] for name in KEY[:3]): {
            (str(cells[level]), str(cells[reference])): (int(level), int(reference))
            for level, reference in contrast.cells.T
        }
        for contrast in pairs(frames)
    }


def _apart(first: Frames, second: Frames, panels: Sequence[Panel]) -> pd.DataFrame:
    """The differences of two effects, each over its own cells and seeds."""
    one, other = (
        estimates(data, pairs(frames), KEY[:3])
        for frames, data in zip((first, second), panels, strict=True)
    )
    both = one.merge(other, on=KEY, suffixes=_SUFFIXES)
    error, degrees = welch(*(both[f"{name}{s}"].to_numpy(dtype=np.float64)
                             for s in _SUFFIXES for name in ("error", "n_seeds")))  # fmt: skip
    lost = [both[f"{name}{s}"] > 0 for s in _SUFFIXES for name in _LOST]
    return both[KEY].assign(
        mean=both["mean_2"] - both["mean_1"],
        error=error,
        degrees=degrees,
        unchanged=both["unchanged_1"] & both["unchanged_2"],
        steady=(both["steady_1"] | both["unchanged_1"]) & (both["steady_2"] | both["unchanged_2"]),
        lost=np.logical_or.reduce(lost),
        n_pairs=np.minimum(both["n_pairs_1"], both["n_pairs_2"]),
        n_seeds=np.minimum(both["n_seeds_1"], both["n_seeds_2"]),
        largest_difference=both["largest_difference_1"] + both["largest_difference_2"],
    )


def welch(
    first: Floats, n_first: Floats, second: Floats, n_second: Floats
) -> tuple[Floats, Floats]:
    """The standard error of a difference of two means, and its degrees of freedom.

    Args:
        first: Standard errors of the means of the first samples.
        n_first: Their sizes.
        second: Standard errors of the means of the second samples.
        n_second: Their sizes.
    """
    variance = first**2 + second**2
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = variance**2 / (first**4 / (n_first - 1) + second**4 / (n_second - 1))
    alone = np.minimum(n_first, n_second) - 1  # where nothing scatters
    return np.sqrt(variance), np.where(variance > 0, degrees, alone)


def _with_intervals(table: pd.DataFrame) -> pd.DataFrame:
    mean = table["mean"].to_numpy(dtype=np.float64)
    error = table["error"].to_numpy(dtype=np.float64)
    degrees = table["degrees"].to_numpy(dtype=np.float64)
    exact = exact_rows(table)
    half = np.where(exact, 0.0, np.nan)
    noise = pd.array([pd.NA] * len(table), dtype="boolean")
    noise[exact] = mean[exact] == 0
    primary = table["primary"].to_numpy(dtype=bool)
    for rows, adjust in ((primary, holm_levels), (~primary, false_coverage_levels)):
        family = rows & estimated_rows(table)
        levels, rejected = adjust(p_values(mean[family], error[family], degrees[family]))
        half[family] = half_widths(error[family], degrees[family], levels)
        noise[family] = ~rejected
    log = (table["scale"] == "log").to_numpy(dtype=bool)
    ends = {
        "estimate": mean,
        "low": clipped(mean - half, table),
        "high": clipped(mean + half, table),
    }
    with np.errstate(over="ignore"):
        columns = {name: np.where(log, np.exp(end), end) for name, end in ends.items()}
    worked = ["mean", "error", "degrees", "steady", "largest_difference"]
    return table.drop(columns=worked).assign(**columns, within_noise=noise)
