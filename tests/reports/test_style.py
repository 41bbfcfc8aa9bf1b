"""How a page looks in a real browser: what is hidden at a side, on paper, above a narrow table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reports import write
from tests.browser import Opened, opened
from tests.reports.simulated import default_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def report(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(default_run(seeds=2), tmp_path_factory.mktemp("style"))


@pytest.fixture
def found(chromium: Browser, report: Path) -> Iterator[Opened]:
    with opened(chromium, report, viewport={"width": 390, "height": 800}) as found:
        yield found
        assert (found.said, found.asked) == ([], [])


@pytest.fixture
def page(found: Opened) -> Page:
    return found.page


SHADED = """(box) => ["before", "after"].filter(
    (side) => getComputedStyle(box, `::${side}`).content !== "none")"""


def test_a_shade_stands_at_each_side_that_hides_something(page: Page) -> None:
    boxes = page.locator(".scroll:visible")
    for box in boxes.all():
        wide = box.evaluate("(box) => box.scrollWidth > box.clientWidth")
        assert box.evaluate(SHADED) == (["after"] if wide else [])
    cells = page.locator("#cells .scroll")
    shaded = "(box, sides) => [...box.classList].slice(1).sort().join() === sides"
    places = {"1e6": "more-before", "9": "more-after,more-before", "0": "more-after"}
    for left, sides in places.items():
        cells.evaluate(f"(box) => {{ box.scrollLeft = {left}; }}")
        page.wait_for_function(
            f"(sides) => ({shaded})(document.querySelector('#cells .scroll'), sides)", arg=sides
        )


def test_a_shade_goes_where_there_is_room(page: Page) -> None:
    cells = page.locator("#cells .scroll")
    assert cells.evaluate(SHADED) == ["after"]
    page.set_viewport_size({"width": 3000, "height": 800})
    page.locator("main").evaluate("(main) => { main.style.maxWidth = 'none'; }")
    page.wait_for_function("() => document.querySelector('#cells .scroll').classList.length === 1")
    assert cells.evaluate(SHADED) == []


def test_what_is_folded_away_is_printed(page: Page) -> None:
    tables = page.locator("main details table")
    assert tables.count() > 0
    seen = "(tables) => tables.map((table) => table.checkVisibility())"
    assert not any(tables.evaluate_all(seen))
    page.emulate_media(media="print")
    assert all(tables.evaluate_all(seen))
    assert all(box["height"] > 0 for table in tables.all() if (box := table.bounding_box()))
    assert page.locator(".scroll").first.evaluate(SHADED) == []


def test_shades_of_changes_are_printed(page: Page) -> None:
    page.emulate_media(media="print")
    changed = page.locator("#cells .down-1, #cells .up-1").first
    assert changed.evaluate("(cell) => getComputedStyle(cell).printColorAdjust") == "exact"


def test_a_caption_is_wider_than_its_narrow_table(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    caption = page.locator("#cells caption")
    page.locator("#cells tr > :not(:first-child)").evaluate_all(
        "(cells) => cells.forEach((cell) => cell.remove())"
    )
    box = caption.bounding_box()
    assert box is not None
    assert box["width"] >= 32 * 16
