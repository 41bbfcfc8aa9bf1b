"""What a run is written as: a page, Markdown, LaTeX, and its tables as CSV or Parquet."""

from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from reports.files import write_text
from reports.frames import Frames
from reports.latex import latex
from reports.markdown import markdown
from reports.marks import mark_alerts
from reports.page import lead, render, unfinished
from reports.paper import PaperTable, paper_tables
from reports.parquet import write_parquet
from reports.tables import run_tables, write_tables
from reports.training.compared import Compared, compare
from reports.training.told import all_findings

FORMATS = ("html", "markdown", "latex", "csv", "parquet")
DEFAULT_FORMATS = ("html", "csv")


def write(frames: Frames, out: Path | str, date: datetime | None = None) -> Path:
    """Write ``report.html`` and ``tables/*.csv`` of a run.

    The same run gives the same bytes, but for the date. Arguments and errors are those of
    `write_formats`.

    Returns:
        The path of ``report.html``.
    """
    return write_formats(frames, out, DEFAULT_FORMATS, date)[0]


def write_formats(
    frames: Frames,
    out: Path | str,
    formats: Collection[str] = DEFAULT_FORMATS,
    date: datetime | None = None,
) -> list[Path]:
    """Write a run in several formats; each file appears whole or not at all.

    ``html`` is report.html, ``markdown`` report.md (findings and a paper's tables), ``latex``
    report.tex (these tables, to be `\\input`), ``csv`` and ``parquet`` are files in ``tables/``.

    Args:
        frames: The run, finished or not.
        out: The run directory; made if it is not there.
        formats: Some of `FORMATS`.
        date: What the page says about when it was written; now if None.

    Returns:
        The files, and the folder ``tables/`` if anything was written there, in the order of
        `FORMATS`.

    Raises:
        ValueError: There is no such format.
        ModuleNotFoundError: ``parquet`` without pyarrow.
        CannotWrite: The folder cannot be written.
    """
    unknown = sorted(set(formats) - set(FORMATS))
    if unknown:
        raise ValueError(f"formats: expected some of {', '.join(FORMATS)}, got {unknown}")
    directory = Path(out)
    compared = compare(frames)
    written: list[Path] = []
    if "csv" in formats:
        write_tables(frames, directory / "tables", compared)
    if "parquet" in formats:
        write_parquet(run_tables(frames, compared), directory / "tables")
    if "html" in formats:
        written.append(directory / "report.html")
        write_text(written[-1], render(frames, date=date, compared=compared))
    if "markdown" in formats:
        written.append(directory / "report.md")
        write_text(written[-1], run_in_markdown(frames, compared))
    if "latex" in formats:
        written.append(directory / "report.tex")
        write_text(written[-1], latex(tables_of(frames, compared), frames.name))
    if {"csv", "parquet"} & set(formats):
        written.append(directory / "tables")
    return written


def run_in_markdown(frames: Frames, compared: Compared) -> str:
    """``report.md``: what a run shows in sentences, and a paper's tables."""
    return markdown(
        title=frames.name,
        lead=lead(frames),
        alerts=[*unfinished(frames), *mark_alerts(frames)],
        findings=all_findings(frames, compared, compared.beside, compared.joint),
        tables=tables_of(frames, compared),
    )


def tables_of(frames: Frames, compared: Compared) -> list[PaperTable]:
    """A paper's tables: of the run, and of its settings at their own best learning rates."""
    found = compared.data, compared.effects, compared.beside
    tables = paper_tables(frames, *found, rates=compared.pair_rates)
    best = compared.at_best
    if best is None:
        return tables
    how = "each at its own best learning rate"
    if best.rates.optimistic:
        how = "each at the learning rate that is best in its only seed, which is optimistic"
    return [*tables, *paper_tables(best.frames, best.data, best.effects, best.beside, how)]
