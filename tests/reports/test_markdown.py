"""Markdown that any name leaves whole: read by a parser of its own."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from reports.formats import run_in_markdown
from reports.markdown import markdown_text
from reports.page import MAX_FINDINGS
from reports.training.compared import compare
from reports.training.told import all_findings
from reports.visible import HIDDEN, visible
from tests.reports.simulated import default_run, empty_run, make_frames
from tests.reports.simulated_training import TRAINING_GRID, training_run
from tests.reports.test_page import EVIL

PARSER = MarkdownIt("commonmark").enable("table")
NASTY = (
    *EVIL,
    *("# a", "- a", "+ a", "* a", "1. a", "2) a", "---", "===", "> a", "| a | b |", "`a`", "**a**"),
    *("[a](http://b)", "![a](b)", "<b>a</b>", "&amp;", "~~~", "```", "a\\", "http://a.b", "$x$"),
)


def inline(text: str) -> list[Token]:
    """The parts of the one paragraph that a text is."""
    tokens = PARSER.parse(text)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    return tokens[1].children or []


def seen(text: str) -> str:
    """What a text shows, as blanks at its ends and hidden characters are not."""
    return visible(text.replace("\n", " ").replace("\t", " "), HIDDEN)


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_name_is_text_and_nothing_else(name: str) -> None:
    parts = inline(markdown_text(name))
    assert {part.type for part in parts} <= {"text", "text_special"}
    assert "".join(part.content for part in parts) == seen(name)


@given(st.text(st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp"]), min_size=1))
def test_any_text_is_text_and_nothing_else(name: str) -> None:
    if not seen(name).strip():
        return
    parts = inline(markdown_text(name))
    assert "".join(part.content for part in parts) == seen(name).strip()


def test_addresses_are_no_links_where_they_would_be_found() -> None:
    assert markdown_text("http://a.b www.c mailto:d") == "http\\://a.b www\\.c mailto\\:d"


def rows(text: str) -> list[list[str]]:
    """The rows of all tables of a text."""
    found: list[list[str]] = []
    for token in PARSER.parse(text):
        if token.type == "tr_open":
            found.append([])
        elif token.type == "inline" and found and token.level > 3:
            found[-1].append("".join(child.content for child in token.children or []))
    return found


def test_a_run_is_a_heading_its_findings_and_its_tables() -> None:
    frames = default_run(seeds=3)
    text = run_in_markdown(frames, compare(frames))
    tokens = PARSER.parse(text)
    headings = [b.content for a, b in pairwise(tokens)
                if a.type == "heading_open"]  # fmt: skip
    assert headings == ["norm-placement", "Findings", "Levels against their baselines"]
    assert sum(token.type == "list_item_open" for token in tokens) > 10
    table = rows(text)
    assert {len(row) for row in table} == {4}
    assert table[0] == [
        *("", "parameters.total", "gradient_flow.embedding", "gradient_flow.sensitivity_ratio"),
    ]
    assert table[1] == ["norm", "", "", ""]
    assert table[2][0] == "layernorm (baseline)"


def test_every_finding_is_there() -> None:
    run = training_run({"norm": ["a", "b"], **TRAINING_GRID})
    compared = compare(run)
    text = run_in_markdown(run, compared)
    found = all_findings(run, compared, compared.beside, compared.joint)
    assert len(found) > MAX_FINDINGS
    tokens = PARSER.parse(text)
    assert sum(token.type == "list_item_open" for token in tokens) >= len(found)
    assert f"\n{len(found)}. " in text


def test_the_best_is_bold() -> None:
    values = np.array([[5.0, 5.1, 5.2, 5.1], [1.0, 1.1, 1.0, 1.3]])
    frames = make_frames({"norm": ["a", "b"]}, {"x": values})
    frames = replace(frames, metric_info=frames.metric_info.assign(better="lower"))
    assert "| b | **1.10 ± 0.26**\\* |" in run_in_markdown(frames, compare(frames))


def test_nasty_names_break_no_row() -> None:
    names = ["base", *dict.fromkeys(NASTY)]
    values = np.random.default_rng(0).normal(5, 1, (len(names), 3))
    frames = replace(make_frames({"norm": names}, {"x": values}), name="# a\n<b>")
    text = run_in_markdown(frames, compare(frames))
    table = rows(text)
    assert {len(row) for row in table} == {2}
    assert len(table) == 2 + len(names)
    assert text.startswith("# \\# a \\<b\\>\n")


def test_a_run_that_shows_nothing_says_so() -> None:
    frames = empty_run()
    text = run_in_markdown(frames, compare(frames))
    assert "Unfinished: 144 of 144 trials are still to be run." in text
    bare = make_frames({}, {"x": np.ones((1, 2))})
    text = run_in_markdown(bare, compare(bare))
    assert "Nothing to compare on a primary metric.\n" in text
    assert "No primary metric was compared.\n" in text
