"""The report in a real browser, opened from disk: complete, silent, without the network."""

import os
import re
import shutil
import subprocess

import pytest

import ablations
import reports
from tests.ablations.test_engine import GRID
from tests.reports.simulated_measures import measured_run

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if BROWSER is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium here: the report is not opened in a browser")
        pytest.skip("no Chromium here")
    out = tmp_path_factory.mktemp("browser")
    return ablations.run(ablations.load_grid(GRID), out, executor="inline").report


def open_page(page, profile, *arguments):
    """Chromium's stdout and log for a page opened from disk, every host name unresolvable."""
    ended = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr",
            *arguments,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return ended.stdout, [line for line in ended.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.slow
def test_the_report_opens_from_disk_without_a_console_message(page, tmp_path):
    dom, console = open_page(page, tmp_path, "--dump-dom")
    assert console == []
    assert "placement" in dom
    assert re.search(r"<h1[^>]*>small</h1>", dom)


@pytest.mark.slow
def test_the_pictures_of_every_measure_open_without_a_console_message(tmp_path):
    frames = measured_run({"norm": ["layernorm", "rmsnorm"]}, seeds=2, leaks=True)
    page = reports.write(frames, tmp_path / "run")
    dom, console = open_page(page, tmp_path / "profile", "--dump-dom")
    assert console == []
    assert "Reads the future" in dom


@pytest.mark.slow
def test_a_console_message_would_be_seen(page, tmp_path):
    broken = tmp_path / "broken.html"
    text = page.read_text(encoding="utf-8")
    broken.write_text(text.replace("</body>", '<p style="color:red">x</p></body>'))
    _, console = open_page(broken, tmp_path / "profile", "--dump-dom")
    assert len(console) == 1
    assert "Content Security Policy" in console[0]
