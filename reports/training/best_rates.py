"""The best learning rate of every setting, and how much worse it does at the others.

Shapes: C cells, G settings, R learning rates, S seeds.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from reports.frames import Frames
from reports.panel import REASONS, Panel
from reports.training.names import FINAL_LOSS, INITIAL_LOSS, LEARNING_RATE, MEASURE
from reports.training.outcomes import learning_rates, rate_values
from reports.training.settings import Settings, settings_without

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

LOWEST, HIGHEST = "lowest", "highest"
_UNFIT = (REASONS.index("skipped"), REASONS.index("not applicable"))


@dataclass(frozen=True, kw_only=True)
class BestRates:
    """Which learning rate is best for each setting of all other factors.

    A rate is chosen by its mean final loss over seeds; one at which a seed diverged is worse than
    any at which fewer did. The rate at which a seed is looked at is chosen by the *other* seeds
    alone, since the best of several noisy losses flatters: those of them of which every rate ended,
    learnt or not.

    Attributes:
        settings: Of all factors but the rate.
        rates: (R,) the levels, from small to large.
        seeds: (S,) as in the panel.
        cells: (G, R) rows of ``frames.cells``; −1 where the grid has no such cell.
        whole: (G,) whether a setting was to be trained at every rate. No other is looked at.
        reason: (G, R, S) an index into `reports.panel.REASONS`, that of the final loss.
        diverged: (G, R, S) where the loss is not finite.
        chosen: (G, S) the place in ``rates`` of the rate for that seed; −1 where there is none.
        best: (G,) that of the rate which all seeds together choose, or −1, also where all of them
            diverge at all rates.
        sensitivity: (G, S) how much worse the mean over rates is than the best of them, in nats:
            mean over η of min(ℓ(η), ℓ₀) − ℓ*, with the final loss ℓ, the loss ℓ₀ at initialization,
            which counts where a trial diverged, and the best loss ℓ* over the rates. NaN where a
            rate did not end, or all of them diverged. Source: Wortsman et al. 2023,
            arXiv:2309.14322.
    """

    settings: Settings
    rates: tuple[str, ...]
    seeds: NDArray[np.int64]
    cells: NDArray[np.intp]
    whole: Mask
    reason: NDArray[np.int8]
    diverged: Mask
    chosen: NDArray[np.intp]
    best: NDArray[np.intp]
    sensitivity: Floats

    @property
    def optimistic(self) -> bool:
        """Whether rates are chosen on the seed that they are looked at, as there is no other."""
        return len(self.seeds) == 1

    @property
    def edge(self) -> list[str]:
        """(G,) whether the best rate is the lowest or the highest tried, where it may lie beyond.

        `LOWEST`, `HIGHEST` or ``""``.
        """
        named = {0: LOWEST, len(self.rates) - 1: HIGHEST}
        return [named.get(int(place), "") for place in self.best]

    @property
    def differ(self) -> Mask:
        """(G,) whether seeds differ in the rate that is chosen for them."""
        known = np.where(self.chosen < 0, self.chosen.max(axis=1, keepdims=True), self.chosen)
        return np.asarray(known.max(axis=1) > known.min(axis=1), dtype=bool)

    @property
    def spread(self) -> tuple[Floats, Floats]:
        """(G,) how many times as far as they seem to losses, and chosen rates, scatter over seeds.

        A rate is chosen by the other n − 1 of n seeds, so that what is seen of one seed depends on
        the others. Where that makes a difference the losses' error is taken √(1 + n / (n − 1))
        times, as that of a cross-validation (Nadeau and Bengio 2003, Machine Learning 52); else
        intervals of 95 % hold in as few as 85 %. The rates chosen are those of samples that lack
        one seed each: their error is the jackknife's, n − 1 times (Tukey 1958, Annals of
        Mathematical Statistics 29).
        """
        n = (self.chosen >= 0).sum(axis=1)
        several = np.maximum(n, 2)
        losses = np.where(self.differ & (n > 1), np.sqrt(1 + several / (several - 1)), 1.0)
        return losses, np.where(n > 1, n - 1.0, 1.0)


def best_rates(frames: Frames, data: Panel) -> BestRates | None:
    """The best learning rate of each setting, or None where the grid does not vary it, or trains a
    single one of several settings at every rate, as where it changes one factor at a time.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it.
    """
    rates = learning_rates(frames)
    metrics = data.info["metric"].to_list()
    trained = (frames.trials["measure"] == MEASURE).any()
    if len(rates) < 2 or FINAL_LOSS not in metrics or not trained or rate_values(rates) is None:
        return None
    settings = settings_without(frames, {LEARNING_RATE})
    cells = np.full((len(settings), len(rates)), -1, dtype=np.intp)
    cells[settings.of_cell, pd.Index(rates).get_indexer(pd.Index(frames.cells[LEARNING_RATE]))] = (
        np.arange(len(frames.cells))
    )
    there = cells >= 0  # (G, R)
    final = metrics.index(FINAL_LOSS)
    absent = np.int8(REASONS.index("skipped"))
    reason = np.where(there[..., None], data.reason[final][cells], absent)  # (G, R, S)
    diverged = there[..., None] & data.diverged[final][cells]
    loss = data.values[final][cells]
    unfit: Mask = np.all(np.isin(reason, _UNFIT), axis=2)  # (G, R)
    whole: Mask = np.all(there & ~unfit, axis=1)
    if whole.sum() < min(2, len(settings)):
        return None
    ended = whole[:, None] & (np.equal(reason, 0) | diverged).all(axis=1)  # (G, S)
    seeds = np.arange(len(data.seeds))
    others = [seeds != seed for seed in seeds] if len(seeds) > 1 else [seeds == 0]
    chosen = [[_choice(loss[g], diverged[g], ended[g] & those) for those in others]
              for g in range(len(settings))]  # fmt: skip
    best = [
        -1 if lost.all() else _choice(loss[g], lost, ended[g]) for g, lost in enumerate(diverged)
    ]
    initial = np.full(loss.shape, np.nan)
    if INITIAL_LOSS in metrics:
        initial = data.values[metrics.index(INITIAL_LOSS)][cells]
    return BestRates(
        settings=settings,
        rates=tuple(rates),
        seeds=data.seeds,
        cells=cells,
        whole=whole,
        reason=np.asarray(reason, dtype=np.int8),
        diverged=diverged,
        chosen=np.array(chosen, dtype=np.intp).reshape(len(settings), len(seeds)),
        best=np.array(best, dtype=np.intp),
        sensitivity=np.where(ended, _sensitivity(loss, initial, diverged), np.nan),
    )


def _choice(loss: Floats, diverged: Mask, seeds: Mask) -> int:
    """The best of R rates on some of the seeds of (R, S) losses; −1 without any such seed."""
    if not seeds.any():
        return -1

    lost = diverged & seeds
    left = [loss[rate, seeds & ~lost[rate]] for rate in range(len(loss))]
    return least_bad(lost.sum(axis=1), [one.mean() if len(one) else np.inf for one in left])


def least_bad(n_diverged: ArrayLike, loss: ArrayLike) -> int:
    """The first of the rates with the lowest loss, of those at which the fewest diverged."""
    return int(np.lexsort([np.asarray(loss), np.asarray(n_diverged)])[0])


def _sensitivity(loss: Floats, initial: Floats, diverged: Mask) -> Floats:
    """(G, S) of (G, R, S) losses."""
    counted = np.where(diverged, initial, np.fmin(loss, initial))
    best = np.where(diverged, np.inf, counted).min(axis=1, keepdims=True)
    best = np.where(np.isfinite(best), best, np.nan)  # all diverged: there is no best
    return np.asarray((counted - best).mean(axis=1), dtype=np.float64)
