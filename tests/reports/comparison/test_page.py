"""The page of a comparison: safe, whole, the same again, and what it says in every corner."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.comparison.compared_run import ComparedRun
from reports.comparison.page import compare_runs, comparison_page, summary, write_comparison
from reports.training.names import LEARNING_RATE
from tests.reports.simulated import default_run, empty_run, make_frames, set_state
from tests.reports.simulated_training import TRAINING_GRID, training_run
from tests.reports.test_page import EVIL, OWN, Page, sha256

DATE = datetime(2030, 1, 2, 3, 4, tzinfo=UTC)


def named(first: Frames, second: Frames) -> tuple[ComparedRun, ComparedRun]:
    return ComparedRun(name="runs/a", frames=first), ComparedRun(name="runs/b", frames=second)


def small(effect: float = 0.0, seed: int = 0) -> Frames:
    values = np.random.default_rng(seed).normal(5, 0.1, (2, 5))
    values[1] += effect
    return make_frames({"norm": ["a", "b"]}, {"x": values})


@pytest.fixture(scope="module")
def page() -> str:
    first, second = default_run(seeds=3), default_run(seeds=3, seed=1)
    return comparison_page(compare_runs(*named(first, second)), DATE)


def test_it_is_one_file_that_its_policy_holds(page: str) -> None:
    read = Page(page)
    (policy,) = [meta["content"] for meta in read.named("meta") if meta.get("http-equiv")]
    style, script = (sha256("".join(read.text[tag])) for tag in ("style", "script"))
    assert policy == (
        f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; "
        f"script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"\bhttps?://", page)
    assert read.named("script") == [{}]
    for tag, attributes in read.tags:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
    assert all(a["href"].startswith(OWN) for a in read.named("a") if "href" in a)
    links = [a["href"] for a in read.named("a") if a.get("href", "").startswith("#")]
    ids = {attributes["id"] for _, attributes in read.tags if attributes.get("id")}
    assert {str(link).removeprefix("#") for link in links} <= ids
    assert all(image["alt"] for image in read.named("img"))


def test_the_same_runs_give_the_same_bytes(page: str) -> None:
    first, second = default_run(seeds=3), default_run(seeds=3, seed=1)
    assert comparison_page(compare_runs(*named(first, second)), DATE) == page


def test_an_effect_that_moved_is_told_first(tmp_path: Path) -> None:
    comparison = compare_runs(*named(small(), small(1.0, 1)))
    finding, *rest = comparison.findings
    assert rest == []
    assert finding.text.startswith("x: the effect of norm = b instead of a was ")
    assert finding.text.endswith("; 1 pair, 5 seeds; the same cells and seeds in both runs).")
    path = tmp_path / "sub" / "c.html"
    write_comparison(comparison, path, DATE)
    assert 'class="effect"' in path.read_text(encoding="utf-8")


def test_an_effect_that_did_not_is_counted() -> None:
    comparison = compare_runs(*named(small(), small(0.0, 1)))
    assert [finding.text for finding in comparison.findings] == [
        "No move is shown of 1 effect on primary metrics (inside seed noise; that is no proof that "
        "there is none)."
    ]


def test_a_longer_run_of_the_same_is_said_to_hold_the_same() -> None:
    """Two seeds more, and of the others all values are the same: that is no matter of noise."""
    longer = small()
    seeds = longer.trials["seed"].unique()[:3]
    of_seeds = {
        name: table[table["seed"].isin(seeds)].reset_index(drop=True)
        for name, table in (("trials", longer.trials), ("metrics", longer.metrics))
    }
    comparison = compare_runs(*named(replace(longer, **of_seeds), longer))
    assert [finding.text for finding in comparison.findings] == [
        "The same over the pairs and seeds that both runs have: 1 effect on primary metrics (one "
        "of the runs has others, too, with which its own effect may be another)."
    ]
    assert "all 6 values that both hold and that can be compared are the same in both." in summary(
        comparison
    )
    text = comparison_page(comparison, DATE)
    assert "the same in each pair and seed" in text
    assert "no move shown" not in text
    other = summary(compare_runs(*named(longer, small(0.0, 1))))
    assert "the same in both" not in other


def test_what_is_lost_or_has_no_interval_is_told() -> None:
    first, second = small(), small(1.0, 1)
    at = (second.trials["cell"] == second.cells["cell"].iloc[1]) & (second.trials["seed"] == 2)
    lost = compare_runs(*named(first, set_state(second, at, "diverged")))
    assert [finding.text for finding in lost.findings] == [
        "Nothing is concluded of 1 effect on primary metrics (trials diverged, failed or gave no "
        "value in one of the runs)."
    ]
    one = make_frames({"norm": ["a", "b"]}, {"x": np.array([[1.0], [2.0]])})
    two = make_frames({"norm": ["a", "b"]}, {"x": np.array([[1.0], [3.0]])})
    assert [finding.text for finding in compare_runs(*named(one, two)).findings] == [
        "No interval can be given for 1 effect on primary metrics (a single seed, seeds that "
        "agree, or no pair of cells)."
    ]


def test_no_factor_in_common_is_said() -> None:
    other = make_frames({"size": ["1", "2"]}, {"x": np.ones((2, 3))})
    comparison = compare_runs(*named(small(), other))
    assert comparison.alerts == [
        "No factor is in both runs, so no effect is compared: the first varies norm, the second "
        "size."
    ]
    assert comparison.alerts[0] in comparison_page(comparison, DATE)


def test_no_effect_in_common_is_said() -> None:
    other = make_frames({"norm": ["a", "c"]}, {"x": np.ones((2, 3))})
    assert compare_runs(*named(small(), other)).alerts == [
        "No effect is in both runs: none has the same factor, level, baseline and metric. So none "
        "is compared."
    ]


def test_a_run_with_nothing_done_is_said() -> None:
    full, empty = default_run(seeds=2), empty_run()
    assert compare_runs(*named(full, empty)).alerts[0] == (
        "Nothing has been measured in the second run yet."
    )
    begun = set_state(full, full.trials["seed"] == 1, "missing")
    assert compare_runs(*named(begun, full)).alerts == [
        "The first run is unfinished: 72 of 144 trials are still to be run."
    ]
    for pair in ((full, empty), (empty, empty)):
        Page(comparison_page(compare_runs(*named(*pair)), DATE))


def test_times_are_not_compared_across_environments_and_that_is_said() -> None:
    first = small()
    first = replace(first, metric_info=first.metric_info.assign(measure="m", unit="s"))
    newer = pd.DataFrame([("python", "3.12")], columns=["key", "value"])
    comparison = compare_runs(*named(first, replace(first, environment=newer)))
    assert comparison.not_compared == {"x": "a time or cost, and the environments differ"}
    assert "a time or cost, and the environments differ" in comparison_page(comparison, DATE)
    assert summary(comparison).endswith("not compared: 1 metric, of times, costs or another unit")


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (TRAINING_GRID, ""),
        ({**TRAINING_GRID, LEARNING_RATE: ["0.0003", "0.001"]},
         "the runs try different learning rates"),
        ({"placement": ["pre", "post"]},
         "one of the runs does not try several learning rates for each setting"),
        ({"norm": ["layernorm", "rmsnorm"], LEARNING_RATE: TRAINING_GRID[LEARNING_RATE]},
         "no factor but the rate is in both"),
    ],
    ids=["the same rates", "other rates", "one rate", "other factors"],
)  # fmt: skip
def test_it_is_said_why_nothing_is_compared_at_the_best_rates(
    other: dict[str, list[str]], why: str
) -> None:
    compared = compare_runs(*named(training_run(), training_run(other)))
    said = f"Each setting at its own best learning rate is not compared, as {why}."
    assert compared.alerts == ([said] if why else [])


def test_what_is_said_against_an_effect_stands_beside_its_move() -> None:
    first, second = small(), small(2.0, 1)
    leaking = replace(second, trials=second.trials.assign(marks="leaks"))
    comparison = compare_runs(*named(first, leaking))
    (caution,) = comparison.moved["caution"]
    assert caution in comparison.findings[0].claim
    assert comparison_page(comparison, DATE).count(caution.split(": ", 1)[1]) >= 2


def test_any_name_is_text() -> None:
    names = ["base", *EVIL]
    rng = np.random.default_rng(0)
    runs = []
    for evil in EVIL[:2]:
        frames = make_frames({"<i>": names}, {"x": rng.normal(5, 1, (len(names), 3))})
        settings = pd.DataFrame([("<b>", evil, "given")], columns=["key", "value", "origin"])
        environment = pd.DataFrame([("<u>", evil)], columns=["key", "value"])
        runs.append(
            ComparedRun(
                name=evil,
                frames=replace(frames, name=evil, settings=settings, environment=environment),
            )
        )
    text = comparison_page(compare_runs(*runs), DATE)
    read = Page(text)
    assert not {"i", "b", "u"} & {tag for tag, _ in read.tags}
    assert read.named("script") == [{}]
    assert len(read.named("img")) == 1  # the chart
    assert "\u202e" not in text


def test_the_summary_is_short_and_says_what_changed() -> None:
    first = small()
    rows = [(f"key {n}", "1", "given") for n in range(8)]
    first = replace(first, settings=pd.DataFrame(rows, columns=["key", "value", "origin"]))
    second = replace(small(0.0, 1), settings=first.settings.assign(value="2"))
    lines = summary(compare_runs(*named(first, second))).splitlines()
    assert lines[:4] == [
        "first: runs/a: 10 trials, 10 done",
        "second: runs/b: 10 trials, 10 done",
        "8 setting changes:",
        "  key 0: 1 → 2",
    ]
    assert lines[8] == "  and 3 more"
    assert lines[9].startswith("2 cells and 5 seeds are in both runs; ")
    assert "nothing that is known of them differs" in summary(compare_runs(*named(first, first)))


def test_other_states_are_in_the_table_and_the_summary() -> None:
    first = small()
    second = set_state(first, first.trials["seed"] == 0, "failed", message="no")
    comparison = compare_runs(*named(first, second))
    assert "2 results in both ended in another state" in summary(comparison)
    assert "Trials of both runs that ended in another state." in comparison_page(comparison, DATE)
