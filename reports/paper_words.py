"""What stands around a paper's table: its caption, which explains every sign in it, and notes."""

from collections.abc import Iterator, Sequence

import pandas as pd

from reports.frames import Frames
from reports.panel import Panel
from reports.paper_entries import DAGGER, STAR, Entry
from reports.records import records
from reports.run_sections import trial_counts
from reports.sizes import convention_of, scaling
from reports.training.names import LEARNING_RATE
from reports.training.pair_rates import PairRates
from reports.wording import PERCENT, counted, listed, short

BETTER = {"higher": ", higher is better", "lower": ", lower is better", "neither": ""}


def caption_of(
    frames: Frames,
    data: Panel,
    effects: pd.DataFrame,
    metrics: Sequence[str],
    entries: Sequence[Entry],
    how: str,
    rates: PairRates | None,
) -> str:
    """The caption of a table.

    Args:
        frames: The run.
        data: `reports.panel.panel` of it.
        effects: The rows of `reports.effects.comparisons` in the table.
        metrics: Its columns.
        entries: Its figures.
        how: What holds for all of them beside that, or ``""``.
        rates: Of the trainings that levels are compared in, if that is not said by ``how``.
    """
    info = data.info.set_index("metric").loc[list(metrics)]
    units = [
        f"{metric} ({row.unit or 'no unit'}{BETTER[row.better]})"
        for metric, row in zip(metrics, records(info), strict=True)
    ]
    log = [metric for metric in metrics if info.loc[metric, "scale"] == "log"]
    said = [
        f"{short(frames.name, 80)}: each level of a factor against its baseline, all else equal"
        f"{f', {how}' if how else ''}.",
        f"Columns: {listed(units, len(units))}.",
        f"Figures: means over n = {_span(effects['n_pairs'], 'pair')} of cells and "
        f"{_span(effects['n_seeds'], 'seed')}"
        f"{f', geometric for {listed(log, len(log))}' if log else ''}; a level's is its baseline's "
        "with their paired difference.",
        *(_rates(rates, metrics) if rates else []),
        *_widths(data, effects, entries),
    ]
    if any(STAR in entry.sign for entry in entries):
        said.append(f"{STAR}: differs from the baseline beyond noise, or exactly.")
    if any(entry.best for entry in entries):
        said.append(
            "Bold: better than every other level of its factor by paired differences beyond noise "
            "(Holm over all pairs of levels), none of which changes direction with the other "
            "factors or lost a trial."
        )
    elif (info["better"] != "neither").any():
        said.append("No level is shown to be better than every other of its factor: none is bold.")
    if any(entry.lost for entry in entries):
        said.append(
            "In brackets: paired observations that are not in the figure; what is left is a mean "
            "of survivors, no finding."
        )
    if any(DAGGER in entry.sign for entry in entries):
        said.append(f"{DAGGER}: less than it looks, see the notes.")
    missing = trial_counts(frames)["missing"]
    if missing:  # at the best rates a trial stands for those of several rates
        told = "trials are" if how else counted(missing, "trial")
        said.append(f"Unfinished: {told} still to be run.")
    return " ".join(said)


def _rates(rates: PairRates, metrics: Sequence[str]) -> Iterator[str]:
    """At which learning rates the trainings are that levels are compared in."""
    told: dict[str, dict[str, list[str]]] = {}  # metrics by factor and what is said
    for metric in metrics:
        for factor, several in rates.of_levels(metric).items():
            words = " or ".join(sorted(map(rates.in_words, several)))
            told.setdefault(factor, {}).setdefault(words, []).append(metric)
    alike = {words for of_factor in told.values() for words in of_factor}
    if len(alike) == 1:
        itself = f", but for {LEARNING_RATE} itself" if rates.varied else ""
        yield f"Trainings are {alike.pop()}{itself}."
    elif told:
        by_factor = [
            f"{short(factor)} {words}{f' ({listed(on)})' if len(of_factor) > 1 else ''}"
            for factor, of_factor in told.items()
            for words, on in of_factor.items()
        ]
        yield f"Trainings are, by factor: {'; '.join(by_factor)}."


def _widths(data: Panel, effects: pd.DataFrame, entries: Sequence[Entry]) -> Iterator[str]:
    """What the intervals are, in the forms that the table has."""
    plus, ends = (any(e.width.startswith(c) for e in entries) for c in "±[")
    of = f"the adjusted 95{PERCENT} interval of the paired difference to the baseline (Holm)"
    if plus:
        share = any(e.width.endswith(PERCENT) for e in entries)
        yield f"±: half {of}{', of a ratio its longer half in percent' if share else ''}."
    if ends:
        yield f"[a, b]: the level's mean at the ends of {'that interval' if plus else of}."
    if effects["exact"].any():
        yield "What no seed changes is exact and has no interval."
    if len(data.seeds) == 1 and not effects["exact"].all():
        yield "One seed: no interval can be given."


def conventions_of(frames: Frames, metrics: Sequence[str]) -> Iterator[str]:
    """What each metric is and by which convention, a line each."""
    info = frames.metric_info
    raw = scaling(frames)
    for row in records(info[(info["form"] == "metric") & info["metric"].isin(metrics)]):
        told = [row.summary.rstrip("."), row.convention.rstrip("."), convention_of(row.metric, raw)]
        yield f"{row.metric}: {'; '.join(filter(None, told))}."


def _span(counts: "pd.Series[int]", noun: str) -> str:
    low, high = int(counts.min()), int(counts.max())
    return counted(low, noun) if low == high else f"{low:,} to {counted(high, noun)}"
