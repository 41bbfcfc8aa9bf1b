"""The report in a real browser, opened from disk: complete, silent, without the network."""

import dataclasses
import html
import json
import os
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import ablations
import reports
from tests.ablations.test_engine import GRID
from tests.reports.simulated import make_frames, set_state
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


HOSTILE = (
    "<script>document.title='ran'</script>",
    '"><img src=http://example.invalid/x onerror=alert(1)>',
    "a\u202eb\x1b[31m\x00\nc",
    "🎉👩\u200d🔬 שלום مرحبا 中文",
    "$\\frac{1}{$ & ' `",
    "long" * 2_500,
)

# A frame of the page in which a person reads it, and what it then is: as wide as its window, asking
# for nothing but what it holds.
FRAMED = """<!DOCTYPE html><meta charset="utf-8">
<iframe id="f" src="report.html" width="{width}" height="800" style="border:0"></iframe>
<script>
document.getElementById("f").onload = (event) => {{
  const page = event.target.contentDocument;
  const asked = event.target.contentWindow.performance.getEntriesByType("resource");
  document.documentElement.dataset.found = JSON.stringify({{
    over: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    asked: asked.map((one) => one.name.slice(0, 20)).filter((name) => !name.startsWith("data:")),
    scripts: page.scripts.length,
    title: page.title,
    text: page.body.innerText,
  }});
}};
</script>"""


def hostile_run():
    """A run in which whatever a person or a plugin names, and every message, is hostile."""
    factors = {HOSTILE[1]: list(HOSTILE), "norm": ["a", "b"]}
    values = np.exp(np.random.default_rng(1).normal(0, 1, (2 * len(HOSTILE), 3)))
    frames = make_frames(factors, {"x.y": values}, scale="log")
    first = frames.trials["cell"] == frames.cells["cell"].iloc[0]
    frames = set_state(frames, first, "failed", message=" ".join(HOSTILE))
    summary = frames.metric_info.assign(summary=HOSTILE[0], unit=HOSTILE[1])
    warned = frames.trials.loc[first, ["cell", "seed", "measure"]].assign(text=HOSTILE[5])
    parts = pd.DataFrame(
        [["norm", "a", "p", "1", HOSTILE[4], HOSTILE[2], HOSTILE[3]]],
        columns=["kind", "name", "plugin", "version", "options", "summary", "source"],
    )
    return dataclasses.replace(
        frames,
        name=HOSTILE[0],
        grid="\n".join(HOSTILE),
        metric_info=summary,
        warnings=warned,
        components=parts,
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_hostile_names_do_nothing_and_break_no_layout(tmp_path, width):
    reports.write(hostile_run(), tmp_path)
    frame = tmp_path / "frame.html"
    frame.write_text(FRAMED.format(width=width), encoding="utf-8")
    flags = ("--allow-file-access-from-files", "--window-size=1400,1000")
    dom, console = open_page(frame, tmp_path / "profile", *flags, "--dump-dom")
    assert console == []
    found = json.loads(html.unescape(re.search(r'data-found="([^"]*)"', dom)[1]))
    assert (found["over"], found["asked"], found["scripts"]) == (0, [], 0)
    assert found["title"] == "<script>document.title='ran'</script>: ablations"
    assert "a\\u202eb\\x1b[31m\\x00" in found["text"]
    assert HOSTILE[3] in found["text"]
    assert HOSTILE[4] in found["text"]
