"""LaTeX that any name leaves whole: read by a small reader of its own."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.formats import tables_of
from reports.latex import PREAMBLE, latex, latex_text
from reports.training.compared import compare
from tests.reports.simulated import default_run, make_frames, set_state
from tests.reports.test_page import EVIL

NASTY = (
    *EVIL,
    *("\\", "\\\\ x", "{", "}", "}}{", "$", "a & b", "#1", "50 %", "x_y", "^^41", "~", "--", "``"),
    *("\\end{table}", "\\input{/etc/passwd}", "[x]", "*", "\\verb|x|", "é", "i\u0307", "\ud800"),
)
_TOKEN = re.compile(r"\\([a-zA-Z]+\*?|.)|([{}&$#%^_~\n])|([^\\{}&$#%^_~\n]+)", re.DOTALL)
COMMANDS = {
    *("textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar"),
    *("textdagger", "ensuremath", "textsuperscript", "symbol", "ablationschar", "ldots"),
    *("i", "j", "c", "r", "v", "u", "H"),
}


def read(text: str) -> tuple[list[str], list[str]]:
    """The commands and the bare active characters of a text; fails where groups do not close."""
    commands, active, depth = [], [], 0
    for command, special, _ in _TOKEN.findall(text):
        if command:
            commands.append(command)
        elif special == "{":
            depth += 1
        elif special == "}":
            depth -= 1
            assert depth >= 0, "a group is closed that was not opened"
        elif special:
            active.append(special)
    assert depth == 0, "a group is left open"
    return commands, active


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_name_is_text_and_nothing_else(name: str) -> None:
    held(latex_text(name))


@given(st.text())
def test_any_text_is_text_and_nothing_else(name: str) -> None:
    held(latex_text(name))


def held(text: str) -> None:
    commands, active = read(text)
    words = {command for command in commands if command.isalpha()}
    in_math = set(re.findall(r"\\ensuremath\{\\([a-zA-Z]+)\}", text))
    assert words <= COMMANDS | in_math
    assert {c for c in commands if not c.isalpha()} <= set("{}$&#%_'`^~=.\"")
    assert set(active) <= {"~"}  # the blank that does not break
    bare = re.sub(r"\\ablationschar\{[0-9A-F]+\}\{.\}", "", text)
    assert bare.isascii()


def test_characters_that_a_document_may_lack_are_named() -> None:
    assert latex_text("中") == r"\ablationschar{4E2D}{中}"
    assert PREAMBLE.count("ablationschar") == 1


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("gqa(n_kv_heads=2)", r"gqa(n\_kv\_heads=2)"),
        ("± 2·10⁻", r"\ensuremath{\pm} 2\ensuremath{\cdot}10\textsuperscript{\ensuremath{-}}"),
        ("a--b", r"a-{}-b"),
        ("é ï ç", r"\'{e} \"{\i{}} \c{c}"),
        ("a\nb\x1b", r"a b\textbackslash{}x1b"),
        ("σ(x)", r"\ensuremath{\sigma}(x)"),
    ],
)  # fmt: skip
def test_a_name_is_written_so_that_it_is_seen(text: str, written: str) -> None:
    assert latex_text(text) == written


def nasty_file() -> str:
    rng = np.random.default_rng(0)
    # No frame has half a pair: pandas' texts are pyarrow's where that is installed.
    names = ["base", *(name for name in dict.fromkeys(NASTY) if name != "\ud800")]
    frames = make_frames(
        {"norm": names, "a\\b{": ["1", "2"]},
        {"x.y_z%": rng.normal(5, 1, (2 * len(names), 3)), "b": np.ones((2 * len(names), 3))},
    )
    told = frames.metric_info.assign(better="lower", summary="50 % of $x_1$ {", convention="#1 & ~")
    frames = replace(frames, name="evil %\n\\name{", metric_info=told)
    frames = set_state(frames, frames.trials["cell"] == "0000000000000005", "diverged")
    return latex(tables_of(frames, compare(frames)), frames.name)


@pytest.mark.parametrize("nasty", [False, True])
def test_every_row_has_as_many_cells_as_its_table_has_columns(nasty: bool) -> None:
    frames = default_run(seeds=2)
    text = nasty_file() if nasty else latex(tables_of(frames, compare(frames)), frames.name)
    tables = re.findall(r"\\begin\{tabular\}\{@\{\}(\w+)@\{\}\}\n(.*?)\n\\end\{tabular\}", text,
                        re.DOTALL)  # fmt: skip
    assert tables
    for columns, body in tables:
        assert (body.count(r"\toprule"), body.count(r"\midrule")) == (1, 1)
        assert body.endswith(r"\bottomrule")
        for line in body.splitlines():
            if line in (r"\toprule", r"\midrule", r"\addlinespace", r"\bottomrule"):
                continue
            assert line.endswith(r" \\")
            row = line.removesuffix(r" \\")
            commands, active = read(row)
            assert row.lstrip()[:1] in ("&", "\\")  # never an option of the row before
            n = active.count("&") + 1
            if "multicolumn" in commands:
                assert row.startswith(rf"\multicolumn{{{len(columns)}}}{{@{{}}l}}")
                n += len(columns) - 1
            assert n == len(columns)


def test_a_file_of_nasty_names_is_whole() -> None:
    text = nasty_file()
    read(re.sub(r"^%.*$", "", text, flags=re.MULTILINE))
    comments = [line for line in text.splitlines() if line.startswith("%")]
    assert comments == [r"% evil % \name{", r"% Needs \usepackage{booktabs}."]
    opened = re.findall(r"\\(begin|end)\{(\w+)\}", text)
    assert len(opened) % 4 == 0
    for first, second in pairwise([name for kind, name in opened if kind == "begin"]):
        assert {first, second} == {"table", "tabular"}


def test_the_best_is_bold_and_what_is_lost_stands_behind_it() -> None:
    values = np.array([[5.0, 5.1, 5.2, 5.1], [1.0, 1.1, 1.0, 1.3]])
    frames = make_frames({"norm": ["a", "b"]}, {"x": values})
    frames = replace(frames, metric_info=frames.metric_info.assign(better="lower"))
    text = latex(tables_of(frames, compare(frames)), "r")
    assert r"\quad b & \textbf{1.10 \ensuremath{\pm} 0.26}* \\" in text
    one = (frames.trials["cell"] == frames.cells["cell"].iloc[1]) & (frames.trials["seed"] == 0)
    lost = set_state(frames, one, "diverged")
    assert r"(1 diverged) \\" in latex(tables_of(lost, compare(lost)), "r")


def test_without_a_table_the_file_says_so() -> None:
    assert latex([], "nothing").endswith("% No primary metric was compared: there is no table.\n")
