"""The page: one HTML file that needs no network and no JavaScript."""

import base64
import hashlib
import re
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from reports.effects_section import effects_section
from reports.figures import attention_figures, budget_figure, effect_figures
from reports.files import write_text
from reports.frames import Frames
from reports.interaction_section import interactions_section
from reports.marks import drawn_warning, mark_alerts, marks_section
from reports.profile_figures import profile_figures
from reports.run_sections import (
    components_section,
    conventions_section,
    environment_section,
    losses_section,
    settings_section,
    trial_counts,
    warnings_section,
)
from reports.sections import cells_section, levels_section
from reports.shares import shares_section
from reports.tables import write_tables
from reports.training.compared import Compared, compare
from reports.training.section import training_section
from reports.training.told import all_findings
from reports.visible import visible
from reports.wording import counted, short

MAX_FINDINGS = 15


def write(frames: Frames, out: Path | str, date: datetime | None = None) -> Path:
    """Write ``report.html`` and ``tables/*.csv`` of a run.

    The same run gives the same bytes, but for the date. Each file appears whole or not at all.

    Args:
        frames: The run, finished or not.
        out: The run directory; made if it is not there.
        date: What the page says about when it was written; now if None.

    Returns:
        The path of ``report.html``.

    Raises:
        OSError: The folder cannot be written.
    """
    directory = Path(out)
    compared = compare(frames)
    write_tables(frames, directory / "tables", compared)
    path = directory / "report.html"
    write_text(path, render(frames, date=date, compared=compared))
    return path


def render(
    frames: Frames, *, date: datetime | None = None, compared: Compared | None = None
) -> str:
    """The page of a run as text.

    Args:
        frames: The run.
        date: What the page says about when it was written; now if None.
        compared: `reports.training.compared.compare` of it, if already computed.
    """
    found = compare(frames) if compared is None else compared
    table, together, data = found.effects, found.interactions, found.data
    beside, joint = found.beside, found.joint
    findings = all_findings(frames, found, beside, joint)
    made = [frames] if found.at_best is None else [frames, found.at_best.frames]
    style = _style()
    written = (date or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M %Z").strip()
    return (
        _environment()
        .get_template("page.html")
        .render(
            name=frames.name,
            title=short(frames.name, 80),
            grid=frames.grid,
            lead=lead(frames),
            alerts=[*unfinished(frames), *mark_alerts(frames)],
            date=written,
            style=Markup(style),  # noqa: S704 - our own style sheet
            style_hash=_csp_hash(style),
            findings=findings[:MAX_FINDINGS],
            more_findings=findings[MAX_FINDINGS:],
            drawn_warning=drawn_warning(frames),
            effect_figures=effect_figures(frames, table, beside),
            effects=effects_section(table, primary=True, beside=beside),
            exploratory=effects_section(table, primary=False, beside=beside),
            interactions=interactions_section(together, joint),
            shares=shares_section(frames, data, found.variance),
            training=training_section(frames, found),
            profiles=profile_figures(frames, table),
            attention_figures=attention_figures(frames, table),
            budget_figure=budget_figure(frames, table),
            levels=levels_section(frames, data),
            cells=cells_section(frames, data),
            losses=losses_section(frames),
            marks=marks_section(frames),
            warnings=warnings_section(frames),
            conventions=conventions_section(*made),
            settings=settings_section(frames),
            components=components_section(frames),
            environment=environment_section(frames),
        )
    )


def lead(frames: Frames) -> str:
    """The grid and how far it got, in a sentence."""
    n_factors = frames.factors["factor"].nunique()
    counts = trial_counts(frames)
    seeds = frames.trials["seed"].nunique()
    told = [f"{counts[state]:,} {state}" for state in counts if counts[state]]
    sizes = [
        f"{short(str(factor))} ({len(rows)})"
        for factor, rows in frames.factors.groupby("factor", sort=False)
    ]
    across = f" of {counted(n_factors, 'factor')}, levels in brackets: {', '.join(sizes[:12])}"
    if len(sizes) > 12:
        across += f" and {len(sizes) - 12} more"
    return (
        f"{counted(len(frames.cells), 'cell')}{across if n_factors else ''}; "
        f"{counted(seeds, 'seed')}; {counted(sum(counts.values()), 'trial')}: "
        f"{', '.join(told) or 'none'}."
    )


def unfinished(frames: Frames) -> list[str]:
    """A warning where trials are still to come."""
    counts = trial_counts(frames)
    missing, total = counts["missing"], sum(counts.values())
    if not missing:
        return []
    return [
        f"Unfinished: {missing:,} of {counted(total, 'trial')} {'is' if missing == 1 else 'are'} "
        "still to be run. What follows is about the others and may change with them."
    ]


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters["breakable"] = _breakable
    return environment


# After these a long name may go on in the next line, and within any run of 24 characters.
_BREAKS = re.compile(r"([._=,/()](?=[^\s\d])|[^\s._=,/()]{24}(?=\S))")


def _breakable(text: str) -> Markup:
    pieces = _BREAKS.sub("\\1\0", visible(text)).split("\0")
    return Markup("<wbr>").join(pieces)


def _shown(value: Any) -> Any:
    """What every text of the page passes: a name must not turn or hide what stands beside it."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _style() -> str:
    return files("reports").joinpath("templates/style.css").read_text(encoding="utf-8")


def _csp_hash(text: str) -> str:
    """The hash by which the page's policy allows its one style sheet and nothing else."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
