"""A paper's tables in LaTeX: `\\input` them; booktabs is all they need."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from reports.paper import PaperRow, PaperTable
from reports.paper_entries import Entry
from reports.visible import HIDDEN, visible

# Whichever engine reads it: pdfLaTeX knows few characters, and a paper's font may lack one.
PREAMBLE = r"""% Needs \usepackage{booktabs}.
\DeclareRobustCommand{\ablationschar}[2]{\ifdefined\XeTeXversion#2\else
  \ifdefined\directlua#2\else\texttt{<U+#1>}\fi\fi}
"""

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "\u00a0": "~",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "†": r"\textdagger{}",
    "→": r"\ensuremath{\to}",
    "↑": r"\ensuremath{\uparrow}",
    "↓": r"\ensuremath{\downarrow}",
    "−": r"\ensuremath{-}",
    "±": r"\ensuremath{\pm}",
    "×": r"\ensuremath{\times}",
    "÷": r"\ensuremath{\div}",
    "·": r"\ensuremath{\cdot}",
    "∞": r"\ensuremath{\infty}",
    "∂": r"\ensuremath{\partial}",
    "‖": r"\ensuremath{\Vert}",
    "√": r"\ensuremath{\surd}",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
    "≠": r"\ensuremath{\ne}",
    "≈": r"\ensuremath{\approx}",
    **{raised: rf"\textsuperscript{{{plain}}}" for raised, plain in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", [
        *"0123456789", r"\ensuremath{-}"], strict=True)},
    **{letter: rf"\ensuremath{{\{name}}}" for letter, name in {
        "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta",
        "η": "eta", "θ": "theta", "κ": "kappa", "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu",
        "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "varphi", "χ": "chi",
        "ψ": "psi", "ω": "omega", "Δ": "Delta", "Γ": "Gamma", "Θ": "Theta", "Λ": "Lambda",
        "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
    }.items()},
}  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip
_LIGATURE = re.compile(r"(?<=[-'`,!?])(?=[-'`,!?])")  # two of these may be drawn as one


def latex_text(text: str) -> str:
    """Any text as LaTeX that shows it, on one line, in ASCII but for what `\\ablationschar` holds.

    What is not seen is spelt out. Nothing of it can end a group, a row, a line or a file.
    """
    line = visible(text.replace("\n", " ").replace("\t", " "), HIDDEN)
    return "{}".join(map(_escaped, _LIGATURE.split(line)))


def _escaped(text: str) -> str:
    return "".join(_character(one) for one in text)


def _character(one: str) -> str:
    if one in _ESCAPES:
        return _ESCAPES[one]
    if " " <= one <= "~":
        return one
    plain = unicodedata.normalize("NFD", one)
    if len(plain) == 2 and plain[0].isascii() and plain[0].isalpha() and plain[1] in _ACCENTS:
        # A dot would stand below the accent.
        letter = rf"\{plain[0]}{{}}" if plain[0] in "ij" and plain[1] != "\u0327" else plain[0]
        return rf"\{_ACCENTS[plain[1]]}{{{letter}}}"
    return rf"\ablationschar{{{ord(one):04X}}}{{{one}}}"


def latex(tables: Sequence[PaperTable], title: str) -> str:
    """The file: a `table` each, ready for `\\input`.

    Args:
        tables: What to show; the file says so if there is nothing.
        title: What they are of, told in a comment.
    """
    parts = [f"% {visible(' '.join(title.split()), HIDDEN)}\n{PREAMBLE}"]
    parts += ["\n".join(_table(table)) + "\n" for table in tables]
    if not tables:
        parts.append("% No primary metric was compared: there is no table.\n")
    return "\n".join(parts)


def _table(table: PaperTable) -> Iterator[str]:
    n_columns = 1 + len(table.columns)
    yield r"\begin{table}[t]"
    yield r"\centering"
    yield rf"\caption{{{latex_text(table.caption)}}}"
    yield rf"\label{{tab:{table.label}}}"
    yield r"\par\smallskip\small"
    yield rf"\begin{{tabular}}{{@{{}}l{'r' * len(table.columns)}@{{}}}}"
    yield r"\toprule"
    above, below = zip(*map(_in_two, table.columns), strict=True)
    yield f"& {' & '.join(above)} \\\\"
    yield f"& {' & '.join(below)} \\\\"
    for number, (factor, rows) in enumerate(table.groups.items()):
        yield r"\midrule" if number == 0 else r"\addlinespace"
        yield rf"\multicolumn{{{n_columns}}}{{@{{}}l}}{{\emph{{{latex_text(factor)}}}}} \\"
        for row in rows:
            yield _row(row)
    yield r"\bottomrule"
    yield r"\end{tabular}"
    for note in table.notes:
        yield rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {latex_text(note)}}}"
    yield r"\end{table}"


def _in_two(heading: str) -> tuple[str, str]:
    """A metric's heading in two lines, so that its column stays narrow: its measure, its name."""
    measure, dot, name = heading.rpartition(".")
    return latex_text(f"{measure}{dot}"), latex_text(name)


def _row(row: PaperRow) -> str:
    return " & ".join([rf"\quad {latex_text(row.name)}", *map(_entry, row.entries)]) + r" \\"


def _entry(entry: Entry) -> str:
    value = latex_text(" ".join(filter(None, [entry.value, entry.width])))
    if entry.best:
        value = rf"\textbf{{{value}}}"
    lost = f" ({latex_text(entry.lost)})" if entry.lost else ""
    return f"{value}{latex_text(entry.sign)}{lost}"
