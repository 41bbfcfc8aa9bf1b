"""The report in a real browser, opened from disk: complete, silent, without the network."""

import dataclasses
from itertools import product

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe

import ablations
import reports
from reports.comparison.compared_run import ComparedRun
from reports.comparison.page import compare_runs, write_comparison
from tests import browser
from tests.ablations.test_engine import GRID
from tests.browser import opened
from tests.reports.simulated import default_run, make_frames, set_state
from tests.reports.simulated_measures import measured_run

SCHEMES = ("light", "dark")
WIDTHS = (390, 1280, 1920)
LANDSCAPE = ":is(#parameters, #cells)"  # on paper
PORTRAIT = f"section:not({LANDSCAPE})"


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    out = tmp_path_factory.mktemp("browser")
    return ablations.run(ablations.load_grid(GRID), out, executor="inline").report


@pytest.fixture(scope="module")
def pictures(chromium, tmp_path_factory):
    """A report with every measure."""
    frames = measured_run({"norm": ["layernorm", "rmsnorm"]}, seeds=2, leaks=True)
    return reports.write(frames, tmp_path_factory.mktemp("pictures"))


@pytest.mark.parametrize(
    ("ci", "raised", "told"),
    [
        ("true", pytest.fail.Exception, "no Chromium here: no page is opened in a browser"),
        ("", pytest.skip.Exception, "no Chromium here"),
    ],
)
def test_without_a_browser_a_test_is_skipped_and_fails_in_ci(monkeypatch, ci, raised, told):
    monkeypatch.setattr(browser, "EXECUTABLE", None)
    monkeypatch.setenv("CI", ci)
    with pytest.raises(raised) as found, browser.chromium():
        pass
    assert str(found.value) == told


@pytest.mark.slow
def test_the_report_opens_from_disk_without_a_console_message(chromium, page):
    with opened(chromium, page) as found:
        assert found.page.locator("h1").inner_text() == "small"
        assert "placement" in found.page.locator("#findings").inner_text()
        assert (found.said, found.asked) == ([], [])


@pytest.mark.slow
def test_the_pictures_of_every_measure_open_without_a_console_message(chromium, pictures):
    with opened(chromium, pictures) as found:
        assert "Reads the future" in found.page.content()
        broken = "[...document.images].filter((image) => !image.naturalWidth).length"
        assert found.page.evaluate(broken) == 0
        assert (found.said, found.asked) == ([], [])


@pytest.mark.slow
def test_a_comparison_opens_without_a_console_message(chromium, tmp_path):
    runs = [ComparedRun(name=f"run {n}", frames=default_run(seeds=3, seed=n)) for n in range(2)]
    write_comparison(compare_runs(*runs), tmp_path / "comparison.html")
    with opened(chromium, tmp_path / "comparison.html") as found:
        assert found.page.get_by_text("SVG", exact=True).first.is_visible()
        assert found.page.locator("#theme").is_visible()
        assert violations(found) == []
        assert (found.said, found.asked) == ([], [])


@pytest.mark.slow
def test_a_console_message_would_be_seen(chromium, page, tmp_path):
    broken = tmp_path / "broken.html"
    text = page.read_text(encoding="utf-8")
    broken.write_text(text.replace("</body>", '<p style="color:red">x</p></body>'))
    with opened(chromium, broken) as found:
        assert len(found.said) == 1
        assert "Content Security Policy" in found.said[0]


@pytest.mark.slow
def test_the_page_s_policy_runs_no_other_script(chromium, page, tmp_path):
    broken = tmp_path / "broken.html"
    text = page.read_text(encoding="utf-8")
    broken.write_text(text.replace("</body>", "<script>document.title='ran'</script></body>"))
    with opened(chromium, broken) as found:
        assert found.page.title() == "small: ablations"
        assert "Content Security Policy" in found.said[0]


def violations(found):
    """What axe finds serious or worse, with its places."""
    response = Axe().run(found.page).response
    assert response["testEngine"]["name"] == "axe-core"
    return [
        (one["id"], [node["target"] for node in one["nodes"]])
        for one in response["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_serious(chromium, pictures, scheme):
    with opened(chromium, pictures, color_scheme=scheme) as found:
        found.page.get_by_text("Columns", exact=True).click()
        assert violations(found) == []


@pytest.mark.slow
def test_axe_would_find_what_cannot_be_read(chromium, pictures, tmp_path):
    with opened(chromium, pictures) as found:
        found.page.evaluate("document.querySelector('.lead').style.color = '#eeeeee'")
        assert [name for name, _ in violations(found)] == ["color-contrast"]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), list(product(WIDTHS, SCHEMES)))
def test_the_page_is_as_wide_as_its_window(chromium, pictures, width, scheme):
    size = {"width": width, "height": 900}
    with opened(chromium, pictures, color_scheme=scheme, viewport=size) as found:
        assert over(found) == 0


def over(found):
    """Pixels by which a page is wider than its window."""
    root = "document.documentElement"
    return found.page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")


@pytest.mark.slow
def test_on_paper_nothing_is_cut_off_and_no_control_is_left(chromium, tmp_path):
    report = reports.write(default_run(seeds=2), tmp_path)
    with opened(chromium, report, color_scheme="dark") as found:
        found.page.locator("#theme").click()  # to light
        found.page.locator("#theme").click()  # and to dark, which paper is not
        found.page.emulate_media(media="print")
        for width, sections in ((688, PORTRAIT), (1016, LANDSCAPE)):
            found.page.set_viewport_size({"width": width, "height": 1000})  # A4, less its margins
            cut = f"[...document.querySelectorAll('{sections}')].map((one) => [one.id,"
            cut += " one.scrollWidth > one.clientWidth]).filter(([, wider]) => wider)"
            assert found.page.evaluate(cut) == []
        assert found.page.locator(":is(.controls, #theme, .take):visible").count() == 0
        back = "getComputedStyle(document.body).backgroundColor"
        assert found.page.evaluate(back) == "rgb(255, 255, 255)"
        dark = "[...document.images].filter((one) => one.currentSrc !== one.src).length"
        assert found.page.evaluate(dark) == 0


HOSTILE = (
    "<script>document.title='ran'</script>",
    '"><img src=http://example.invalid/x onerror=alert(1)>',
    "a\u202eb\x1b[31m\x00\nc",
    "🎉👩\u200d🔬 שלום مرحبا 中文",
    "$\\frac{1}{$ & ' `",
    "long" * 2_500,
)


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
    blocks = pd.DataFrame(
        [(name, 1, "out", "0") for name in HOSTILE], columns=["block", "call", "part", "inputs"]
    )
    return dataclasses.replace(
        frames,
        blocks=blocks,
        name=HOSTILE[0],
        grid="\n".join(HOSTILE),
        metric_info=summary,
        warnings=warned,
        components=parts,
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_hostile_names_do_nothing_and_break_no_layout(chromium, tmp_path, width):
    report = reports.write(hostile_run(), tmp_path)
    with opened(chromium, report, viewport={"width": width, "height": 800}) as found:
        assert (over(found), found.asked, found.said) == (0, [], [])
        assert found.page.evaluate("document.scripts.length") == 1
        assert found.page.title() == "<script>document.title='ran'</script>: ablations"
        text = found.page.locator("body").inner_text()
        assert "a\\u202eb\\x1b[31m\\x00" in text
        assert HOSTILE[3] in text
        assert HOSTILE[4] in text
