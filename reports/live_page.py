"""What is served of a run before its report has been made, and the policy of all that is served."""

from collections.abc import Sequence

from reports.templating import environment, policy


def live_page(title: str, lines: Sequence[str]) -> str:
    """A page of a few lines, looking as the report does."""
    return environment().get_template("live.html").render(title=title, lines=lines)


def served_policy() -> str:
    """The header by which a page may do what its own policy says, and stand in no frame."""
    return f"{policy()}; frame-ancestors 'none'"
