"""Shares of variance as a table of the page: factors by primary metrics."""

import numpy as np
import pandas as pd

from reports.frames import Frames
from reports.listing import Table, make_table
from reports.panel import REASONS, Panel, panel
from reports.variance import share_of_variance
from reports.wording import PERCENT, counted, listed

MAX_METRICS = 10


def shares_section(
    frames: Frames, data: Panel | None = None, shares: pd.DataFrame | None = None
) -> Table | None:
    """How much of what differs between cells each factor carries, on each primary metric.

    ``data`` is `reports.panel.panel` of the run and ``shares`` its `share_of_variance`, if already
    computed.
    """
    data = panel(frames) if data is None else data
    info = frames.metric_info
    metrics = list(info.loc[(info["form"] == "metric") & info["primary"], "metric"])
    shares = share_of_variance(frames, data) if shares is None else shares
    shares = shares[shares["metric"].isin(metrics)]
    varying = [m for m in metrics if shares.loc[shares["metric"] == m, "share"].notna().any()]
    still = [m for m in metrics if m not in varying and (shares["metric"] == m).any()]
    drawn = varying[:MAX_METRICS]
    if not drawn:
        return None
    share = shares.pivot(index="factor", columns="metric", values="share")[drawn]
    factors = list(dict.fromkeys(shares["factor"]))
    share = share.loc[sorted(factors, key=lambda factor: -float(share.loc[factor].max()))]
    about = shares.drop_duplicates("metric").set_index("metric")
    overlap = [metric for metric in drawn if not about.loc[metric, "balanced"]]
    rows = [
        [str(factor), *(_percent(value) for value in values)]
        for factor, values in zip(share.index, share.to_numpy(), strict=True)
    ]
    rest = 1 - share.sum()
    rows.append(
        [
            "in no factor alone",
            *("overlap" if m in overlap else _percent(max(0.0, float(rest[m]))) for m in drawn),
        ]
    )
    classes = [*[""] * (len(rows) - 1), "faint"]
    return make_table(
        _caption(about.loc[drawn], len(frames.cells)),
        {"Factor": False, **dict.fromkeys(drawn, True)},
        rows,
        classes,
        (_note(overlap, still, varying[MAX_METRICS:]) + _left_out(data, drawn)).strip(),
    )


def _percent(share: float) -> str:
    """Whole percentages: more digits would say more than the cells do."""
    if np.isnan(share):
        return "—"
    return f"under 1{PERCENT}" if 0 < share < 0.005 else f"{100 * share:.0f}{PERCENT}"


def _caption(about: pd.DataFrame, n_cells: int) -> str:
    used = sorted(set(about["n_cells"]))
    cells = f"{used[0]:,}" if len(used) == 1 else f"{used[0]:,} to {used[-1]:,}"
    return (
        "Share of variance: how much of what differs between the means of cells each factor "
        "carries on its own, less what noise alone is expected to add, on each primary metric, "
        f"over the {cells} of {counted(n_cells, 'cell')} that have every seed. What is "
        "in no factor alone is interaction and what is left of noise."
    )


def _note(overlap: list[str], still: list[str], more: list[str]) -> str:
    told = ""
    if overlap:
        told += (
            f"Factors are not balanced against each other on {listed(overlap)}: their shares "
            "overlap and do not add up. "
        )
    if still:
        told += f"Not here, as no cell differs or one seed tells no noise: {listed(still)}. "
    if more:
        told += f"Not here for room: {listed(more)}. "
    return told


def _left_out(data: Panel, metrics: list[str]) -> str:
    """The cells that are not in the shares, by the gravest reason in them; alike metrics as one."""
    told: dict[str, list[str]] = {}
    grave = REASONS.index("no value")
    for metric in metrics:
        worst = data.reason[data.info["metric"].to_list().index(metric)].max(axis=1, initial=0)
        counts = [(REASONS[code], int((worst == code).sum())) for code in range(1, len(REASONS))]
        causes = [f"{n:,} {reason}" for reason, n in counts if n]
        if causes:
            said = f"{counted(int((worst > 0).sum()), 'cell')} left out: {listed(causes)}"
            lost = (worst >= grave).any()
            said += "; of survivors alone, which is no finding" if lost else ""
            told.setdefault(said, []).append(metric)
    return " ".join(f"On {listed(of)} {said}." for said, of in told.items())
