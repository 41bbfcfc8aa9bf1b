"""What a reader can do with the page in a real browser: sort, filter, choose, take along."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from reports import write
from reports.csv_text import csv_text
from tests.browser import Opened, opened
from tests.reports.simulated import make_frames, set_state

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

FACTORS = {"norm": ["layernorm", "rmsnorm"], "width": ["8", "16", "_b|c%"]}
MEANS = np.array([10.0, 30.0, 20.0, 0.5, 0.0001, 10.0])
"""Of the cells, in the grid's order; the last one has lost a seed."""


@pytest.fixture(scope="module")
def report(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = MEANS[:, None] * np.exp(np.array([[-0.1, 0.0, 0.1]]))
    frames = make_frames(FACTORS, {"m.x": values}, scale="log")
    lost = (frames.trials["cell"] == frames.cells["cell"].iloc[5]) & (frames.trials["seed"] == 0)
    frames = set_state(frames, lost, "failed", message="boom")
    return write(replace(frames, name="a run"), tmp_path_factory.mktemp("script"))


@pytest.fixture
def found(chromium: Browser, report: Path) -> Iterator[Opened]:
    """The page; nothing that a test does with it may be refused or fail."""
    with opened(chromium, report, permissions=["clipboard-read", "clipboard-write"]) as found:
        yield found
        assert (found.said, found.asked) == ([], [])


@pytest.fixture
def page(found: Opened) -> Page:
    return found.page


def column(page: Page, place: int) -> list[str]:
    """The texts of a column in the rows that are shown."""
    rows = page.locator("#cells-table tbody tr:visible")
    return [row.locator("th, td").nth(place).inner_text() for row in rows.all()]


def head(page: Page, name: str) -> Locator:
    return page.locator("#cells-table thead").get_by_role("button", name=name, exact=True)


def sorts(page: Page) -> list[str | None]:
    heads = page.locator("#cells-table thead th").all()
    return [one.get_attribute("aria-sort") for one in heads]


GIVEN = ["10.0", "30.0", "20.0", "0.500", "1·10⁻⁴", "failed (1 of 3)"]


def test_a_column_is_sorted_up_down_and_not_the_baseline_first_and_what_is_lost_last(
    page: Page,
) -> None:
    assert column(page, 2) == GIVEN
    assert sorts(page) == ["none"] * 4
    head(page, "m.x").click()
    assert column(page, 2) == ["10.0", "1·10⁻⁴", "0.500", "20.0", "30.0", "failed (1 of 3)"]
    assert sorts(page) == ["none", "none", "ascending", "none"]
    head(page, "m.x").click()
    assert column(page, 2) == ["10.0", "30.0", "20.0", "0.500", "1·10⁻⁴", "failed (1 of 3)"]
    assert sorts(page) == ["none", "none", "descending", "none"]
    head(page, "m.x").click()
    assert column(page, 2) == GIVEN
    assert sorts(page) == ["none"] * 4


def test_levels_that_are_numbers_are_sorted_as_numbers(page: Page) -> None:
    head(page, "width").click()
    assert column(page, 1) == ["8", "_b|c%", "_b|c%", "8", "16", "16"]


def test_rows_are_filtered_by_level_and_by_what_became_of_them(page: Page) -> None:
    page.get_by_label("Filter").fill("width=16")
    assert column(page, 1) == ["8", "16", "16"]  # the baseline stays
    told = "2 of 6 rows match; the baseline is shown in any case."
    assert page.locator("#cells-told").inner_text() == told
    page.get_by_label("Filter").fill("RMS 16")
    assert column(page, 0) == ["layernorm", "rmsnorm"]
    page.get_by_label("Filter").fill("failed")
    assert column(page, 2) == ["10.0", "failed (1 of 3)"]
    page.get_by_label("Filter").fill("")
    assert column(page, 2) == GIVEN
    assert page.locator("#cells-told").inner_text() == ""


def test_columns_are_chosen(page: Page) -> None:
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("width", exact=True).uncheck()
    heads = page.locator("#cells-table thead th:visible")
    assert [one.strip() for one in heads.all_inner_texts()] == ["norm", "m.x", "m.x: change"]
    page.get_by_label("Changes against the baseline").uncheck()
    assert [one.strip() for one in heads.all_inner_texts()] == ["norm", "m.x"]
    assert not page.get_by_label("m.x: change", exact=True).is_checked()
    page.get_by_label("m.x: change", exact=True).check()
    assert page.get_by_label("Changes against the baseline").is_checked()


def copied(page: Page, button: str) -> str:
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_text(f"Copied as {button}.").wait_for()
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def test_csv_has_all_digits_of_what_is_shown(page: Page) -> None:
    head(page, "m.x").click()
    page.get_by_label("Filter").fill("rmsnorm")
    rows = list(csv.reader(io.StringIO(copied(page, "CSV"))))
    assert rows[0] == ["norm", "width", "m.x", "m.x: ratio to the baseline"]
    assert [row[:2] for row in rows[1:]] == [
        ["layernorm", "8"], ["rmsnorm", "16"], ["rmsnorm", "8"], ["rmsnorm", "_b|c%"],
    ]  # fmt: skip
    means = [float(row[2]) for row in rows[1:4]]
    np.testing.assert_allclose(means, MEANS[[0, 4, 3]], rtol=1e-12)
    np.testing.assert_allclose([float(row[3]) for row in rows[2:4]], MEANS[[4, 3]] / 10, rtol=1e-12)
    assert rows[1][3] == ""  # the baseline against itself
    assert rows[4][2:] == ["failed (1 of 3)", ""]


def test_a_level_that_is_named_like_a_missing_number_keeps_its_name_in_csv(page: Page) -> None:
    cell = page.locator("#cells-table tbody th").first
    cell.evaluate("(cell) => { cell.textContent = '—'; }")
    assert copied(page, "CSV").splitlines()[1].startswith("—,8,")


def test_markdown_and_latex_are_as_they_are_read_with_their_marks_escaped(page: Page) -> None:
    page.get_by_label("Filter").fill("_b|c%")
    assert copied(page, "Markdown") == (
        "| norm | width | m.x | m.x: change |\n"
        "| --- | --- | ---: | ---: |\n"
        "| layernorm | 8 | 10.0 | — |\n"
        "| layernorm | \\_b\\|c% | 20.0 | 2 times |\n"
        "| rmsnorm | \\_b\\|c% | failed (1 of 3) | — |\n"
    )
    page.get_by_label("Filter").fill("rmsnorm")
    assert copied(page, "LaTeX") == (
        "% Needs \\usepackage{booktabs}.\n"
        "\\begin{tabular}{llrr}\n\\toprule\n"
        "norm & width & m.x & m.x: change \\\\\n\\midrule\n"
        "layernorm & 8 & 10.0 & --- \\\\\n"
        "rmsnorm & 8 & 0.500 & 0.0500 times \\\\\n"
        "rmsnorm & 16 & 1$\\cdot$10$^{-4}$ & 1$\\cdot$10$^{-5}$ times \\\\\n"
        "rmsnorm & \\_b\\textbar{}c\\% & failed (1 of 3) & --- \\\\\n"
        "\\bottomrule\n\\end{tabular}\n"
    )


@pytest.mark.parametrize(
    "text", ['=1+"1"', " @x", "-x", "-1.5e3", "'a", "a,b", "plain", "－1", "inf", "+"]
)
def test_a_name_is_written_as_in_the_tables_which_no_spreadsheet_runs(
    page: Page, text: str
) -> None:
    cell = page.locator("#cells-table tbody th").first
    cell.evaluate("(cell, text) => { cell.textContent = text; }", text)
    written = csv_text(pd.DataFrame({"norm": [text]})).splitlines()[1]
    assert copied(page, "CSV").splitlines()[1].startswith(f"{written},8,")


def test_without_a_clipboard_the_text_is_shown_to_be_copied_by_hand(page: Page) -> None:
    page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }"
    )
    page.get_by_role("button", name="Markdown", exact=True).click()
    told = "The browser does not allow it: copy the Markdown below by hand."
    page.get_by_text(told).wait_for()
    area = page.locator("#cells-text")
    assert area.input_value().startswith("| norm | width |")
    assert area.evaluate("(area) => area === document.activeElement")
    selected = area.evaluate("(area) => area.selectionEnd - area.selectionStart")
    assert selected == len(area.input_value())


def downloaded(page: Page, link: Locator) -> tuple[str, str]:
    with page.expect_download() as download:
        link.click()
    path = download.value.path()
    return download.value.suggested_filename, path.read_text(encoding="utf-8")


def test_the_cells_and_each_figure_are_taken_along(page: Page) -> None:
    name, text = downloaded(page, page.get_by_role("button", name="Download CSV"))
    assert name == "a-run-cells.csv"
    assert text.startswith("norm,width,m.x,m.x: ratio to the baseline\nlayernorm,8,")
    assert len(text.splitlines()) == 7
    figure = page.locator("figure").first
    name, text = downloaded(page, figure.get_by_text("SVG", exact=True))
    assert name == "effects-on-m.x.svg"
    assert text.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    name, text = downloaded(page, figure.get_by_text("Data (CSV)"))
    assert name == "effects-on-m.x.csv"
    assert text.startswith("factor,level,reference,metric,scale,estimate,")


def test_the_theme_is_the_system_s_until_it_is_changed(chromium: Browser, report: Path) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    drawn = "[...document.images].map((one) => one.currentSrc === one.src)"
    light, dark = "rgb(255, 255, 255)", "rgb(22, 25, 29)"
    with opened(chromium, report, color_scheme="dark") as found:
        page = found.page
        assert page.evaluate(back) == dark
        assert not any(page.evaluate(drawn))
        page.emulate_media(color_scheme="light")
        assert page.evaluate(back) == light
        page.get_by_role("button", name="Dark theme").click()
        assert page.evaluate(back) == dark
        page.wait_for_function(f"!{drawn}.some(Boolean)")
        page.get_by_role("button", name="Light theme").click()
        assert page.evaluate(back) == light
        page.wait_for_function(f"{drawn}.every(Boolean)")
        assert found.said == []


def test_the_keyboard_alone_reaches_and_works_every_control(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    tab_to(page, "cells-filter")
    page.keyboard.type("rmsnorm")
    assert len(column(page, 0)) == 4
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert not page.get_by_label("Changes against the baseline").is_checked()
    names = ["CSV", "Markdown", "LaTeX", "Download CSV", "Columns"]
    for name in names:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == name
    page.keyboard.press("Enter")  # opens the columns
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert not page.locator("#cells-columns input").first.is_checked()
    tab_to(page, "", "width")
    page.keyboard.press("Enter")
    assert sorts(page)[1] == "ascending"
    assert page.evaluate("document.activeElement.textContent") == "width"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"


def tab_to(page: Page, name: str, text: str = "") -> None:
    """Tab until the element of this id, or the button of this text, has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        at = page.evaluate("[document.activeElement.id, document.activeElement.textContent]")
        if (at[0] == name) if name else (at[1] == text):
            return
    pytest.fail(f"not reached: {name or text}")


def test_without_javascript_the_table_is_whole_and_no_control_is_shown(
    chromium: Browser, report: Path
) -> None:
    with opened(chromium, report, java_script_enabled=False) as found:
        assert column(found.page, 2) == GIVEN
        assert found.page.locator(":is(button, input, textarea):visible").count() == 0
        assert found.page.locator("[data-svg]:visible").count() == 0
        name, _ = downloaded(found.page, found.page.get_by_text("Data (CSV)").first)
        assert name == "effects-on-m.x.csv"
