"""The page: one HTML file that needs no network, and is all there without JavaScript."""

from datetime import UTC, datetime

from reports.block_figure import block_figure, blocks_unseen
from reports.cells_section import cells_section
from reports.effects_section import effects_section
from reports.figures import attention_figures, budget_figure, effect_figures
from reports.frames import Frames
from reports.glance import glance_section
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
from reports.sections import levels_section
from reports.shares import shares_section
from reports.templating import environment
from reports.tradeoffs.figures import tradeoff_figures
from reports.training.compared import Compared, compare
from reports.training.section import training_section
from reports.training.told import all_findings
from reports.wording import counted, listed, short

MAX_FINDINGS = 15


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
    written = (date or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M %Z").strip()
    return (
        environment()
        .get_template("page.html")
        .render(
            name=frames.name,
            title=short(frames.name, 80),
            grid=frames.grid,
            lead=lead(frames),
            alerts=[*unfinished(frames), *mark_alerts(frames)],
            date=written,
            glance=glance_section(findings),
            findings=findings[:MAX_FINDINGS],
            more_findings=findings[MAX_FINDINGS:],
            drawn_warning=drawn_warning(frames),
            effect_figures=effect_figures(frames, table, beside),
            effects=effects_section(table, primary=True, beside=beside),
            exploratory=effects_section(table, primary=False, beside=beside),
            interactions=interactions_section(together, joint),
            shares=shares_section(frames, data, found.variance),
            tradeoff_figures=tradeoff_figures(frames, table, found.tradeoffs),
            training=training_section(frames, found),
            profiles=profile_figures(frames, table),
            attention_figures=attention_figures(frames, table),
            budget_figure=budget_figure(frames, table),
            block_figure=block_figure(frames),
            blocks_unseen=blocks_unseen(frames),
            levels=levels_section(frames, data),
            cells=cells_section(frames, data),
            losses=losses_section(frames),
            marks=marks_section(frames),
            warnings=warnings_section(frames),
            conventions=conventions_section(*made),
            settings=settings_section(frames),
            components=components_section(frames),
            environment=environment_section(frames),
            seeds=seeds_told(frames),
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


def seeds_told(frames: Frames) -> str:
    """The seeds of a run, in words."""
    seeds = [str(seed) for seed in sorted(frames.trials["seed"].unique())]
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {listed(seeds, 20)}" if seeds else ""


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
