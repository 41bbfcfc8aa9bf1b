"""What is drawn of how trainings end: the trials of a setting at a learning rate, by their ends."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from reports.frames import Frames
from reports.pairs import ordered_levels
from reports.training.names import LEARNING_RATE
from reports.training.outcomes import STATES, learning_rates, outcomes

MAX_ROWS = 40


@dataclass(frozen=True, kw_only=True)
class SurvivalTable:
    """What `reports.plots.survival` draws.

    Attributes:
        fields: A row for each field with trials: ``row`` (a place in ``settings``), ``column`` (a
            place in ``rates``), and how many of its trials ended in each of `STATES`.
        row_factors: The factors told by rows, the most influential first.
        settings: Their levels in each row.
        rates: The learning rates, ascending; one ``""`` where the grid does not vary them.
        over: Factors that are varied within a field.
    """

    fields: pd.DataFrame
    row_factors: tuple[str, ...]
    settings: tuple[tuple[str, ...], ...]
    rates: tuple[str, ...]
    over: tuple[str, ...]

    @property
    def counts(self) -> "pd.Series[int]":
        """Trials by state."""
        return self.fields[list(STATES)].sum()

    def named(self) -> pd.DataFrame:
        """`fields` with the levels and the rate that their places stand for."""
        rows, columns = self.fields["row"], self.fields["column"]
        levels = {
            factor: [self.settings[row][place] for row in rows]
            for place, factor in enumerate(self.row_factors)
        }
        rates = [self.rates[column] for column in columns]
        return pd.DataFrame({**levels, LEARNING_RATE: rates}).join(self.fields[list(STATES)])


def survival_table(frames: Frames, ranking: Sequence[str]) -> SurvivalTable | None:
    """How the trials of each setting ended at each rate, or None where nothing was trained.

    Args:
        frames: The run.
        ranking: Factors, the most influential first. Those that would make more than `MAX_ROWS`
            rows, beside the ones before them, are varied within a field.
    """
    ended = outcomes(frames)
    if ended.empty:
        return None
    cells = frames.cells.iloc[ended["cell"]].reset_index(drop=True)
    varied = [f for f in ranking if f != LEARNING_RATE and cells[f].nunique() > 1]
    kept: list[str] = []
    for factor in varied:
        if len(cells[[*kept, factor]].drop_duplicates()) <= MAX_ROWS:
            kept.append(factor)
    rates = [rate for rate in learning_rates(frames) if (cells[LEARNING_RATE] == rate).any()]
    order = {f: {v: i for i, v in enumerate(ordered_levels(frames, f))} for f in kept}
    named = list(cells[kept].itertuples(index=False, name=None)) if kept else [()] * len(cells)
    settings = sorted(
        set(named), key=lambda levels: [order[f][v] for f, v in zip(kept, levels, strict=True)]
    )
    place = {levels: number for number, levels in enumerate(settings)}
    fields = pd.DataFrame(
        {
            "row": [place[levels] for levels in named],
            "column": [rates.index(rate) for rate in cells[LEARNING_RATE]] if rates else 0,
            **{state: (ended["state"] == state).astype(int) for state in STATES},
        }
    )
    return SurvivalTable(
        fields=fields.groupby(["row", "column"], as_index=False).sum(),
        row_factors=tuple(kept),
        settings=tuple(settings),
        rates=tuple(rates) or ("",),
        over=tuple(factor for factor in varied if factor not in kept),
    )
