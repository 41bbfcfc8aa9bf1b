"""Whether figures of the initial model foretell how its training ends.

Shapes: C cells, G settings, M metrics, S seeds.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reports.frames import Frames
from reports.intervals import false_coverage_levels
from reports.pairs import baseline_level, equal_rows, factor_names, level_codes
from reports.panel import REASONS, Panel
from reports.placebo import PLACEBO
from reports.training.names import FINAL_LOSS, INITIAL_LOSS, LEARNT, MEASURE, OPTIONS
from reports.training.rank_correlation import LEAST, RankCorrelation, all_alike, rank_correlation
from reports.training.settings import Settings, settings_without
from reports.wording import counted

PREDICTION_COLUMNS = (
    "metric",
    "outcome",
    "correlation",
    "low",
    "high",
    "shown",
    "n_settings",
    "n_left_out",
    "because",
)

_LOST = REASONS.index("no value")
_UNFIT = (REASONS.index("skipped"), REASONS.index("not applicable"))

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class _Models:
    """The initial models of a run: one setting each, whatever they are trained with.

    Attributes:
        settings: Of the factors that make a model.
        alike: (C,) whether a cell has the baseline of every other measure's options.
        trained: (C,) whether it is also trained with options that every setting is trained with.
    """

    settings: Settings
    alike: Mask
    trained: Mask


def predictions(frames: Frames, data: Panel) -> pd.DataFrame:
    """How metrics of the initial model go with the outcomes of training, by rank over settings.

    A setting is one initial model: what it is trained with, other measures' options and the placebo
    make no further ones. Its figure is the mean over seeds, that of other measures' options at
    their baseline; its outcomes are means over seeds and over the options of the training that all
    settings have in common: the final loss, where a trial that diverged counts as its loss at
    initialization, above any that stalled, and the share of trials that learnt. A setting of which
    a trial failed or has not run is left out.

    Columns: ``metric``, ``outcome``, ``correlation`` (Spearman's), ``low`` and ``high``
    (`reports.training.rank_correlation`, adjusted by Benjamini–Hochberg over all rows), ``shown``
    (whether the interval excludes 0), ``n_settings``, ``n_left_out``, and ``because``: why there is
    no correlation, or ``""``. Settings share levels and are no independent draws, so the intervals
    describe this grid and none beside it.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it.
    """
    models = _models(frames, data)
    outcomes = dict(_outcomes(data, models))
    figures = {
        str(metric): _figure(data, index, models)
        for index, (metric, measure) in enumerate(
            zip(data.info["metric"], data.info["measure"], strict=True)
        )
        if measure != MEASURE
    }
    n = len(models.settings)
    rows: list[tuple[str, str, RankCorrelation, str]] = []
    for outcome, result in outcomes.items():
        for metric, figure in figures.items():
            both = np.isfinite(figure) & np.isfinite(result)
            x, y = figure[both], result[both]
            why = _because((metric, x), (outcome, y))
            rows.append((metric, outcome, rank_correlation(x, y), why))
    p = np.array([found.p_value for _, _, found, _ in rows], dtype=np.float64)
    levels, shown = np.full(len(p), np.nan), np.zeros(len(p), dtype=bool)
    known = np.isfinite(p)
    levels[known], shown[known] = false_coverage_levels(p[known])
    table = [
        (metric, outcome, found.value, *found.interval(level), is_shown, found.n, n - found.n, why)
        for (metric, outcome, found, why), level, is_shown in zip(rows, levels, shown, strict=True)
    ]
    return pd.DataFrame(table, columns=list(PREDICTION_COLUMNS))


def _because(*columns: tuple[str, Floats]) -> str:
    """Why nothing is said of two columns, or ``""``."""
    n = len(columns[0][1])
    if n < LEAST:
        return f"{counted(n, 'setting')}: fewer than {LEAST}"
    alike = [name for name, values in columns if all_alike(values)]
    return f"{alike[0]} is the same in every setting" if alike else ""


def _models(frames: Frames, data: Panel) -> _Models:
    names = factor_names(frames)
    measures = set(frames.trials["measure"])
    options = [name for name in names if "." in name and name.split(".")[0] in measures]
    own = [name for name in options if name.startswith(OPTIONS)]
    settings = settings_without(frames, {*options, PLACEBO})
    alike = np.ones(len(frames.cells), dtype=bool)
    for name in options:
        if name not in own:
            level = baseline_level(frames, name)
            alike &= (frames.cells[name] == level).to_numpy(dtype=bool)
    asked = np.zeros(len(frames.cells), dtype=bool)
    if FINAL_LOSS in (metrics := data.info["metric"].to_list()):
        asked = ~np.all(np.isin(data.reason[metrics.index(FINAL_LOSS)], _UNFIT), axis=1)
    with_option = equal_rows(level_codes(frames)[:, [names.index(name) for name in own]])
    trained = alike & asked
    there = np.zeros((len(settings), with_option.max(initial=-1) + 1), dtype=bool)
    there[settings.of_cell[trained], with_option[trained]] = True
    common: Mask = np.all(there[np.any(there, axis=1)], axis=0)
    return _Models(settings=settings, alike=alike, trained=trained & common[with_option])


def _outcomes(data: Panel, models: _Models) -> Iterator[tuple[str, Floats]]:
    """Each outcome with its (G,) means; NaN where one is not known of every trial."""
    metrics = data.info["metric"].to_list()
    if FINAL_LOSS in metrics and INITIAL_LOSS in metrics:
        final, initial = metrics.index(FINAL_LOSS), data.values[metrics.index(INITIAL_LOSS)]
        loss = np.fmin(data.values[final], initial)
        yield FINAL_LOSS, _mean(np.where(data.diverged[final], initial, loss), models)
    if LEARNT in metrics:
        yield LEARNT, _mean(data.values[metrics.index(LEARNT)], models)


def _mean(values: Floats, models: _Models) -> Floats:
    """(G,) means of (C, S) values over the cells that are trained; NaN if any is."""
    found = np.full(len(models.settings), np.nan)
    for g in range(len(found)):
        here = values[models.trained & (models.settings.of_cell == g)]
        found[g] = here.mean() if here.size else np.nan
    return found


def _figure(data: Panel, index: int, models: _Models) -> Floats:
    """(G,) means over seeds of a metric of the initial model; NaN where a seed lost it."""
    found = np.full(len(models.settings), np.nan)
    for g in range(len(found)):
        here = models.alike & (models.settings.of_cell == g)
        reason, values = data.reason[index][here], data.values[index][here]
        usable = reason == 0
        if not usable.any() or (reason >= _LOST).any():
            continue
        count = usable.sum(axis=0)
        total = np.where(usable, values, 0.0).sum(axis=0)
        found[g] = (total[count > 0] / count[count > 0]).mean()
    return found
