"""A finding: one claim with what supports it."""

import math
from dataclasses import dataclass, replace
from typing import Any

MOST, DEPENDS, EFFECT, INTERACTION = "most", "depends", "effect", "interaction"
UNDECIDED, NOISE, EXPLORATORY, PLACEBO = "undecided", "noise", "exploratory", "placebo"
RATES, TRAINING = "rates", "training"
"""Kinds of finding: what leads on a metric, an effect that cancels on average but depends on the
other factors, a shown effect, what two levels do together beyond what they do apart, no conclusion
from the data at hand, effects inside seed noise, what the metrics not declared primary say
together, what a factor that changes nothing but the random draws seems to do, an effect that is
another where each setting has its own best learning rate, and how a run's training went."""


@dataclass(frozen=True, kw_only=True)
class Glance:
    """What leads on a metric, in few words: the change, its size, how sure it is, and the factors
    that may matter as much."""

    matters: str
    much: str
    sure: str
    rivals: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A claim, what supports it, and the figures; a figure that it does not have is None.

    ``glance`` is of what leads on its metric alone; ``levels`` are the factors and levels of a
    claim about several; ``exact`` says that no seed changes the metric, so that it was known before
    anything ran.

    ``estimate``, ``low`` and ``high`` are as in the table of effects: a ratio or a difference.
    """

    kind: str
    claim: str
    support: str = ""
    metric: str | None = None
    factor: str | None = None
    level: str | None = None
    factor_2: str | None = None
    level_2: str | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n_pairs: int | None = None
    n_seeds: int | None = None
    n_dropped: int | None = None
    exact: bool = False
    glance: Glance | None = None
    levels: tuple[tuple[str, str], ...] = ()

    def supported(self, by: str) -> "Finding":
        """The same with more that supports it, if that is anything."""
        return replace(self, support="; ".join(filter(None, [self.support, by]))) if by else self

    @property
    def text(self) -> str:
        """The whole sentence."""
        return f"{self.claim} ({self.support})." if self.support else f"{self.claim}."


def finding_of(
    row: Any, kind: str, claim: str, support: str = "", glance: Glance | None = None
) -> Finding:
    """A finding with the figures of a row of effects or interactions."""

    def finite(value: float) -> float | None:
        return float(value) if math.isfinite(value) else None

    return Finding(
        kind=kind,
        claim=claim,
        support=support,
        metric=row.metric,
        factor=row.factor,
        level=row.level,
        factor_2=getattr(row, "factor_2", None),
        level_2=getattr(row, "level_2", None),
        estimate=finite(row.estimate),
        low=finite(row.low),
        high=finite(row.high),
        n_pairs=int(row.n_pairs),
        n_seeds=int(row.n_seeds),
        n_dropped=int(row.n_dropped),
        exact=bool(row.exact),
        glance=glance,
    )
