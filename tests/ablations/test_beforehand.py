"""What a run finds out before its trials: once, in workers, and again where it must be."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ablations
from ablations import engine, viewing
from ablations.conformity import Cache, Conformity
from ablations.examining import Examination
from ablations.strangers import by_strangers
from ablations.viewing import Viewing
from registry import Execution
from registry.contracts import Outcome

SIZES = {"depth": 2, "d_model": 8, "n_heads": 2, "context": 8, "vocab_size": 16}
PLUGIN = Path(__file__).parents[1] / "plugins" / "wired.py"

EDITED = """
from components.placements import {form}
from registry import ComponentSpec, Dims, hookimpl


class Mine({form}):
    def __init__(self, dims: Dims, attention, feed_forward, residual, norm) -> None:
        super().__init__(dims, attention, feed_forward, residual, norm)


@hookimpl
def register_components():
    return [ComponentSpec(kind="placement", name="mine", target=Mine)]
"""


@pytest.fixture(autouse=True)
def short(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No report is written, and every component is known as examined."""
    passed = Conformity(passed=True, leaks=False, n_run=1)
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")
    monkeypatch.setattr(Cache, "found", lambda self, keys: [(key, passed) for key in keys])
    yield
    sys.modules.pop("wired", None)


@pytest.fixture
def viewed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The blocks that were looked at, in their order."""
    names = []
    view = viewing.view

    def noted(asked: Viewing) -> Any:
        names.append(asked.block)
        return view(asked)

    monkeypatch.setattr(engine, "view", noted)
    return names


def grid(*placements: Any, plugin: Path = PLUGIN, **changes: Any) -> ablations.Grid:
    document = {
        "name": "blocks",
        "model": SIZES,
        "factors": {"placement": ["pre", *placements]},
        "seeds": 1,
        "measures": [{"gradient_flow": {"batch": 1}}],
        **changes,
    }
    return ablations.load_grid(document, plugins=[str(plugin)])


def blocks(out: Path) -> pd.DataFrame:
    return ablations.open_run(out).frames().blocks


def calls(out: Path) -> dict[str, list[str]]:
    """The parts of each block, or why it is not drawn."""
    found: dict[str, list[str]] = {}
    for row in blocks(out).to_dict("records"):
        found.setdefault(row["block"], []).append(row["reason"] or row["part"])
    return found


PRE = ["norm", "attention", "residual", "norm", "feed_forward", "residual", "out"]
POST = ["attention", "residual", "norm", "feed_forward", "residual", "norm", "out"]
NOT_YET = ["not looked at yet"]
BARE = ["norm", "attention", "norm", "feed_forward", "out"]


def test_blocks_of_strangers_stand_in_the_run_as_they_are_wired(tmp_path: Path) -> None:
    ablations.run(grid("mix_ln", "bare", "again", "raising"), tmp_path / "run", executor="inline")
    assert calls(tmp_path / "run") == {
        "pre": PRE,
        "mix_ln, block 0": POST,
        "mix_ln, block 1": PRE,
        "bare": BARE,
        "again": [*PRE[:2], *PRE],
        "raising": ["RuntimeError: not today"],
    }
    of_again = blocks(tmp_path / "run").query("block == 'again'")
    assert of_again["inputs"].to_list() == ["0", "1", "2", "3", "0, 2, 4", "2, 4", "6", "5, 7", "8"]
    lines = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    (told,) = [line for line in map(json.loads, lines) if line["event"] == "block not drawn"]
    assert (told["block"], told["message"]) == ("raising", "RuntimeError: not\ntoday")
    assert told["level"] == "WARNING"
    assert "in forward" in told["traceback"]


def test_a_block_is_looked_at_once_a_run_directory(tmp_path: Path, viewed: list[str]) -> None:
    def carried(*placements: Any, **options: Any) -> list[str]:
        del viewed[:]
        ablations.run(grid(*placements), tmp_path / "run", executor="inline", **options)
        return list(viewed)

    assert carried("bare") == ["pre", "bare"]
    assert carried("bare") == []
    assert carried("bare", "mix_ln") == ["mix_ln"]
    assert carried({"mix_ln": {"share": 0}}) == ["mix_ln(share=0.0)"]
    assert carried("mix_ln") == []  # of an earlier grid of this directory
    assert calls(tmp_path / "run")["mix_ln, block 0"] == POST
    assert carried("mix_ln", fresh=True) == ["pre", "mix_ln"]


def test_a_block_that_was_not_seen_is_tried_again_as_trials_are(
    tmp_path: Path, viewed: list[str]
) -> None:
    asked = grid("raising")
    ablations.run(asked, tmp_path / "run", executor="inline")
    ablations.run(asked, tmp_path / "run", executor="inline", retry_failed=False)
    assert viewed == ["pre", "raising"]
    ablations.run(asked, tmp_path / "run", executor="inline")
    assert viewed == ["pre", "raising", "raising"]


def test_an_edited_plugins_block_is_looked_at_anew(
    tmp_path: Path, viewed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = tmp_path / "mine.py"
    for form, wired in (("Pre", PRE), ("Post", POST)):
        plugin.write_text(EDITED.format(form=form))
        sys.modules.pop("mine", None)  # as a process that starts anew
        monkeypatch.setattr("ablations.sources._FIRST_SEEN", {})
        ablations.run(grid("mine", plugin=plugin), tmp_path / "run", executor="inline")
        assert calls(tmp_path / "run") == {"pre": PRE, "mine": wired}
    assert viewed == ["pre", "mine", "mine"]


def test_what_was_not_looked_at_yet_is_said_and_looked_at_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(asked: Viewing) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(engine, "view", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ablations.run(grid("bare"), tmp_path / "run", executor="inline")
    assert calls(tmp_path / "run") == {"pre": NOT_YET, "bare": NOT_YET}
    ablations.run(grid("bare"), tmp_path / "run", executor="inline")
    assert calls(tmp_path / "run") == {"pre": PRE, "bare": BARE}


def given_to_the_executor(
    asked: ablations.Grid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Any]:
    """The tasks of a run whose executor carries none out."""
    given: list[Any] = []

    def execute(self: Any, tasks: Any, work: Any, execution: Execution) -> Iterator[Outcome]:
        given.extend(tasks)
        yield from ()

    monkeypatch.setattr("ablations.executors.inline.Inline.execute", execute)
    ablations.run(asked, tmp_path / "run", executor="inline")
    return given


def test_blocks_are_called_by_the_executor_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def called(*_: Any, **__: Any) -> None:
        raise AssertionError("called where the run is planned")

    asked = grid("bare")
    monkeypatch.setattr("wired.Bare.forward", called)
    assert given_to_the_executor(asked, tmp_path, monkeypatch)
    assert calls(tmp_path / "run") == {"pre": NOT_YET, "bare": NOT_YET}


def test_tasks_with_the_same_strangers_come_together_before_the_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cache, "found", lambda self, keys: [])
    given = given_to_the_executor(grid("bare"), tmp_path, monkeypatch)
    first = [task for task in given if isinstance(task, (Examination, Viewing))]
    assert given[: len(first)] == first
    assert first == sorted(first, key=by_strangers)
    assert [task.block for task in first if isinstance(task, Viewing)] == ["pre", "bare"]
    assert [type(task) for task in first[-2:]] == [Examination, Viewing]
    assert {task.strangers for task in first[-2:]} == {frozenset({"wired"})}


def test_workers_find_what_this_process_finds(tmp_path: Path) -> None:
    asked = grid("mix_ln", "bare", model={**SIZES, "feed_forward": "experts"})
    ablations.run(asked, tmp_path / "inline", executor="inline")
    ablations.run(asked, tmp_path / "local", executor="local", workers=2)
    assert calls(tmp_path / "inline") == {
        "pre": PRE, "mix_ln, block 0": POST, "mix_ln, block 1": PRE, "bare": BARE,
    }  # fmt: skip
    assert blocks(tmp_path / "local").equals(blocks(tmp_path / "inline"))
