"""What every page is made with: templates, a style sheet, a script, and what allows no more."""

import base64
import hashlib
import re
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from reports.visible import visible


def environment() -> jinja2.Environment:
    """What fills the templates: escaped, strict, every text made visible."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters["breakable"] = _breakable
    made.globals |= {
        "style": Markup(style_sheet()),  # noqa: S704 - our own
        "script": Markup(script()),  # noqa: S704 - our own
        "policy": Markup(policy()),  # noqa: S704 - our own
    }
    return made


# After these a long name may go on in the next line, and within any run of 24 characters; a number
# stays with its sign and its bracket.
_BREAKS = re.compile(r"([._=,/()](?=[^\s\d+\u2212;,.])|[^\s._=,/()]{24}(?=\S))")


def _breakable(text: str) -> Markup:
    pieces = _BREAKS.sub("\\1\0", visible(text)).split("\0")
    return Markup("<wbr>").join(pieces)


def _shown(value: Any) -> Any:
    """What every text of the page passes: a name must not turn or hide what stands beside it."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def style_sheet() -> str:
    """The one style sheet of every page."""
    return files("reports").joinpath("templates/style.css").read_text(encoding="utf-8")


def script() -> str:
    """The one script of every page."""
    return files("reports").joinpath("templates/report.js").read_text(encoding="utf-8")


def policy() -> str:
    """What a page may do: show its figures, its own style sheet, run its own script; no more."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_hash(style_sheet())}'; "
        f"script-src '{_hash(script())}'; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
