"""Pages in a real browser, opened from disk without a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

EXECUTABLE = shutil.which("chromium") or shutil.which("google-chrome")


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A page, what it said on the console or failed with, and what it asked for beyond itself."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium; where there is none a test is skipped, and fails instead if ``CI`` is true."""
    if EXECUTABLE is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium here: no page is opened in a browser")
        pytest.skip("no Chromium here")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=EXECUTABLE,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, path: Path, **context: Any) -> Iterator[Opened]:
    """A page from disk in a fresh profile, offline.

    Args:
        browser: `chromium`.
        path: The file.
        context: What Playwright's ``new_context`` takes, as ``color_scheme``.
    """
    with browser.new_context(offline=True, **context) as profile:
        found = Opened(page=profile.new_page())
        found.page.on("console", lambda message: found.said.append(message.text))
        found.page.on("pageerror", lambda error: found.said.append(str(error)))
        found.page.on("request", lambda request: found.asked.append(request.url[:80]))
        found.page.goto(path.as_uri())
        found.asked[:] = [url for url in found.asked if not url.startswith(("data:", "file:"))]
        yield found
