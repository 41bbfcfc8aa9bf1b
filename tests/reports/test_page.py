"""The page: one file, safe, the same again, right in every corner."""

import base64
import hashlib
import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports import Frames, write
from reports.marks import EXPLAINED
from reports.page import render, seeds_told
from reports.templating import environment
from tests.reports.simulated import default_run, empty_run, interacting, make_frames, set_state
from tests.reports.simulated_measures import MEASURED_GRID, measured_run

DATE = datetime(2030, 1, 2, 3, 4, tzinfo=UTC)
OWN = ("data:image/svg+xml;base64,", "data:text/csv;base64,", "#")
VOID = {"meta", "img", "source", "wbr", "br", "input"}
EVIL = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "=cmd|' /C calc'!A0",
        "{{ 7*7 }}", "a\nb\tc", "🎉", "x" * 200, "$\\frac{$", "</style>",
        "a\u202eb\x1b[31m", "שלום", "中文")  # fmt: skip


class Page(HTMLParser):
    """The tags, attributes and text of a page; fails where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.text.setdefault(self._open[-1] if self._open else "", []).append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def small(**values: object) -> Frames:
    rng = np.random.default_rng(0)
    return make_frames({"norm": ["a", "b"]}, {"x": rng.normal(5, 1, (2, 3)), **values})


@pytest.fixture(scope="module")
def text() -> str:
    return render(default_run(seeds=3), date=DATE)


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


@pytest.fixture(scope="module")
def measured() -> Page:
    factors = {name: MEASURED_GRID[name] for name in ("norm", "placement", "initializer")}
    factors["gradient_flow.loss"] = ["cross_entropy", "sum"]
    return Page(render(measured_run(factors, seeds=3), date=DATE))


def test_order_of_headings(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert page.text["h2"] == [
        "Findings", "Effects", "Profiles", "Interactions", "Parameters", "Trade-offs", "Cells",
        "Failed, diverged and skipped trials", "Conventions", "How to reproduce this",
        "How to read this",
    ]  # fmt: skip


def test_lead_and_findings(page: Page) -> None:
    lead = page.text["p"][0]
    assert lead.startswith("72 cells of 5 factors")
    assert "3 seeds; 216 trials: 216 done." in lead
    claims = page.text["span"]
    assert claims[0].startswith("gradient_flow.embedding: placement matters most;")


def test_nothing_is_loaded_and_only_its_own_script_runs(page: Page, text: str) -> None:
    assert not page.named("link") + page.named("iframe")
    assert page.named("script") == [{}]
    for _, attrs in page.tags:
        assert not [name for name in attrs if name.startswith("on") or name == "style"]
        for name in ("src", "srcset", "href"):
            value = attrs.get(name)
            assert value is None or value.startswith(OWN)
    outside = re.sub(r"base64,[A-Za-z0-9+/=]+", "", text)
    assert not re.search(r"https?://|url\(|@import", outside)


def test_figures_hold_no_reference_to_anything_outside(page: Page) -> None:
    images = page.named("img")
    assert len(images) == 7
    for image in images:
        assert len(image["alt"] or "") > 60
        svg = base64.b64decode((image["src"] or "").split(",", 1)[1]).decode()
        assert not re.search(r'href="(?!#)', svg)


def test_every_measure_has_its_place(measured: Page) -> None:
    assert measured.text["h2"] == [
        "Findings", "Effects", "Profiles", "Attention maps", "Interactions", "Parameters",
        "Cells", "Failed, diverged and skipped trials", "Conventions", "How to reproduce this",
        "How to read this",
    ]  # fmt: skip
    assert measured.text["h3"] == [
        "Share of variance", "Grid as run", "Settings", "Components", "Environment",
    ]  # fmt: skip
    assert "#attention" in [a.get("href") for a in measured.named("a")]
    images = measured.named("img")
    assert len(images) == 3 + 3 + 3 + 2 + 1
    for image in images:
        svg = base64.b64decode((image["src"] or "").split(",", 1)[1]).decode()
        assert not re.search(r'href="(?!#|data:image/png;base64,)', svg)


def test_gradients_by_role_are_folded_away(measured: Page) -> None:
    assert "Gradients of parameters by role" in measured.text["summary"]


def test_trials_left_out_and_raw_figures_are_told_before_their_figures(measured: Page) -> None:
    alert = measured.text["p"][1]
    assert alert.startswith("12 of 48 trials of gradient_flow are left out of every comparison:")
    assert "all 12 with gradient_flow.loss = sum" in alert
    warnings = measured.text["strong"]
    assert warnings[0].startswith("gradient_flow.embedding: sizes differ, so it is not evidence")
    assert "initializer = xavier" in warnings[0]
    assert any("raw: compare only where gradient_" in text for text in measured.text["td"])


def test_marks_are_explained_where_they_are_counted(measured: Page) -> None:
    cells = measured.text["td"]
    assert EXPLAINED["cancelled_probe"] in cells
    assert EXPLAINED["vanishing"] in cells


def test_a_metric_that_does_not_apply_is_no_loss() -> None:
    frames = small()
    second = frames.metrics["cell"] == frames.cells["cell"].iloc[1]
    text = render(replace(frames, metrics=frames.metrics[~second]), date=DATE)
    assert '<td class="n">not applicable</td>' in text
    assert "values lost" not in text


def test_wins_are_shown_where_a_direction_is_better() -> None:
    frames = small()
    assert "Wins" not in Page(render(frames, date=DATE)).text["th"]
    better = replace(frames, metric_info=frames.metric_info.assign(better="lower"))
    page = Page(render(better, date=DATE))
    assert "Wins" in page.text["th"]
    assert any(re.fullmatch(r"[\d.]+\u00a0% of 3", text) for text in page.text["td"])


def test_policy_allows_the_one_style_sheet_and_script_and_no_more(page: Page) -> None:
    style, script = (sha256("".join(page.text[tag])) for tag in ("style", "script"))
    (policy,) = [m["content"] for m in page.named("meta") if m.get("http-equiv")]
    assert policy == (
        f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; "
        f"script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )


def sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_tables_are_accessible(page: Page) -> None:
    assert len(page.named("caption")) == len(page.named("table"))
    assert all(attrs.get("scope") in ("col", "row", "rowgroup") for attrs in page.named("th"))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [a["href"] or "" for a in page.named("a") if "href" in a]
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)


def test_same_run_same_bytes_but_for_the_date(tmp_path: Path) -> None:
    frames = small()
    first = write(frames, tmp_path / "a", date=DATE)
    second = write(frames, tmp_path / "b", date=DATE)
    assert first == tmp_path / "a" / "report.html"
    assert first.read_bytes() == second.read_bytes()
    for path in (tmp_path / "a" / "tables").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / "tables" / path.name).read_bytes()
    other = write(frames, tmp_path / "c", date=DATE.replace(year=2031)).read_text()
    assert other.replace("2031-", "2030-") == first.read_text()
    assert first.read_text().count("2030") == 1


def test_hostile_names_and_messages_are_text(tmp_path: Path) -> None:
    values = np.exp(np.random.default_rng(1).normal(0, 1, (2 * len(EVIL), 3)))
    factors = {EVIL[1]: list(EVIL), "b": ["t", "f"]}
    frames = make_frames(factors, {EVIL[0]: values}, scale="log")
    rows = (frames.trials["seed"] == 0) & (frames.trials["cell"] == frames.cells["cell"].iloc[0])
    frames = set_state(
        frames, rows, "failed", message="</td></table><script>x()</script>\x00" + "y" * 5000
    )
    frames = replace(frames, name=EVIL[0], grid=f"# {EVIL[1]}\n{EVIL[8]}\n")
    page = Page(write(frames, tmp_path, date=DATE).read_text())
    assert page.named("script") == [{}]
    assert len(page.named("style")) == 1
    assert all(set(image) == {"src", "width", "height", "alt"} for image in page.named("img"))
    assert EVIL[0] in page.text["h1"]
    assert any("{{ 7*7 }}" in text for text in page.text["th"])
    told = "".join(page.text["th"])
    assert "a\\u202eb\\x1b[31m" in told
    assert "שלום" in told
    assert "中文" in told


def test_lost_trials_are_grouped_with_their_messages() -> None:
    frames = small()
    frames = set_state(frames, frames.trials["seed"] == 0, "failed", message="boom & <b>")
    text = render(frames, date=DATE)
    assert "boom &amp; &lt;b&gt;" in text
    assert "6 trials: 4 done, 2 failed." in text
    assert "failed (1 of 3)" in text  # instead of the survivors' mean


def test_a_cell_without_a_usable_value_has_no_mean_of_the_others() -> None:
    values = np.random.default_rng(1).uniform(1, 2, (2, 3))
    values[1, 0] = 0
    text = render(make_frames({"norm": ["a", "b"]}, {"x": values}, scale="log"), date=DATE)
    assert "no value (1 of 3)" in text
    assert "values lost, no conclusion" in text


def test_only_so_many_cells_are_listed() -> None:
    factors = {f"f{i}": [f"l{j}" for j in range(9)] for i in range(3)}
    frames = make_frames(factors, {"x": np.random.default_rng(0).normal(size=(729, 2))})
    text = render(frames, date=DATE)
    cells = text[text.index('<section id="cells"') : text.index('<section id="lost"')]
    assert cells.count("<tr") == 501
    told = "The baseline and the first 499 of 729 cells in the grid's order; the rest is in "
    assert f"{told}tables/cells.csv and tables/metrics.csv." in unescape(cells)


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        (empty_run(), "144 trials: 144 missing."),
        (make_frames({"norm": ["a"]}, {"x": [[1.0, 2.0]]}), "Nothing to compare"),
        (make_frames({}, {"x": [[1.0, 2.0]]}), "1 cell; 2 seeds; 2 trials: 2 done."),
        (small(y=np.full((2, 3), np.nan)), "are not used: 3 without a usable value"),
        (make_frames({"norm": ["a", "b"]}, {"x": [[1.0], [2.0]]}), "one seed: no interval"),
        (make_frames({"norm": ["a", "b"]}, {}), "No primary metric was asked for."),
        (
            make_frames(
                {f"factor {i:02d}": ["a", "b"] if i < 2 else ["a"] for i in range(40)},
                {"x": np.random.default_rng(0).normal(size=(4, 2))},
            ),
            "factor 11 (1) and 28 more",
        ),
        (
            make_frames(
                {"f": [f"level {i}" for i in range(40)]},
                {"x": np.random.default_rng(0).normal(size=(40, 2))},
            ),
            "The 30 largest of 39",
        ),
    ],
    ids=["nothing done", "one cell", "no factor", "all NaN", "one seed", "no metric", "40 factors",
         "40 levels"],
)  # fmt: skip
def test_corners_give_a_sensible_page(frames: Frames, said: str) -> None:
    text = render(frames, date=DATE)
    Page(text)
    assert said in text


def test_everything_failed() -> None:
    frames = default_run(seeds=2)
    text = render(
        set_state(frames, frames.trials["seed"] >= 0, "failed", message="boom"), date=DATE
    )
    assert "144 trials: 144 failed." in text
    assert "no conclusion is drawn" in text
    assert "<img" not in text


def test_level_that_is_skipped_everywhere() -> None:
    frames = small()
    rows = frames.cells.set_index("cell")["norm"].loc[frames.trials["cell"]].to_numpy() == "b"
    text = render(set_state(frames, pd.Series(rows), "skipped", message="4 heads"), date=DATE)
    assert (
        "nothing is said about norm = b, as 3 of 3 paired observations are not used: 3 skipped"
        in text
    )
    assert "4 heads" in text


def test_effects_that_depend_on_others_are_marked_in_table_and_chart() -> None:
    text = render(interacting("log"), date=DATE)
    cells = Page(text).text
    assert "Range over pairs" in cells["th"]
    row = cells["td"].index("depends on placement")
    assert re.fullmatch(r"0\.49\d to 2\.0\d times", cells["td"][row - 1])
    (image,) = Page(text).named("img")
    assert "range over pairs from 0.49" in (image["alt"] or "")
    assert "Thin lines below, where wide enough to be seen: the range over pairs" in text


def test_effects_stand_below_their_metric(text: str) -> None:
    heading = (
        '<th scope="rowgroup" colspan="10">gradient_<wbr>flow.<wbr>sensitivity_<wbr>ratio</th>'
    )
    assert text.count(heading) == 1
    assert text.count('scope="rowgroup"') >= 3


def test_an_unfinished_run_says_so_before_its_findings() -> None:
    frames = small()
    first = frames.trials["cell"] == frames.cells["cell"].iloc[0]
    text = render(set_state(frames, first, "missing"), date=DATE)
    warning = "still to be run. What follows is about the others and may change with them."
    assert warning in text
    assert text.index("Unfinished: ") < text.index('<ol class="findings">')
    assert warning not in render(frames, date=DATE)


def test_what_never_changes_is_unchanged_not_noise() -> None:
    values = np.tile(np.random.default_rng(0).normal(5, 1, (1, 3)), (2, 1))
    cells = Page(render(make_frames({"norm": ["a", "b"]}, {"x": values}), date=DATE)).text["td"]
    assert "unchanged" in cells
    assert "inside noise" not in cells


def test_how_to_run_it_again_is_told() -> None:
    frames = small()
    told = Page(render(frames, date=DATE)).text
    said = " ".join("".join(told["p"]).split())
    assert "it has seeds 0, 1 and 2. Another machine, thread count or version of torch" in said
    assert "ablations run grid.yaml" in told["code"]
    assert frames.grid in told["code"]
    one = replace(
        frames,
        trials=frames.trials[frames.trials["seed"] == 2],
        metrics=frames.metrics[frames.metrics["seed"] == 2],
    )
    assert seeds_told(one) == "seed 2"
    assert seeds_told(replace(one, trials=one.trials.iloc[:0], metrics=one.metrics.iloc[:0])) == ""


def test_conventions_settings_and_grid_are_told(text: str) -> None:
    assert "Cross-entropy on random tokens" in text
    assert "model.<wbr>tie_<wbr>embeddings" in text
    assert "measures: [parameters, gradient_flow]" in text
    assert "2.13.0" in text


def test_a_number_stays_with_its_sign_and_its_bracket() -> None:
    shown = environment().filters["breakable"]
    assert shown("not with post (\u22120.8 to +1.1), a(+2); mha") == (
        "not with post (\u22120.8 to +1.1), a(+2); mha"
    )
    assert shown("gqa(n_heads)") == "gqa(<wbr>n_<wbr>heads)"
