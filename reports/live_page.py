"""What is served of a run before its report has been made, and the policy of all that is served."""

from collections.abc import Sequence

from markupsafe import Markup

from reports.templating import csp_hash, environment, style_sheet


def live_page(title: str, lines: Sequence[str]) -> str:
    """A page of a few lines, looking as the report does."""
    style = Markup(style_sheet())  # noqa: S704 - our own style sheet
    return environment().get_template("live.html").render(title=title, lines=lines, style=style)


def served_policy() -> str:
    """The header by which a browser shows the page's style sheet and figures, and nothing else."""
    return (
        f"default-src 'none'; img-src data:; style-src '{csp_hash(style_sheet())}'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
