"""What a run says of the results that its directory holds, and what it does again."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import ablations
from ablations import cli, engine
from ablations.commands import running
from ablations.results import MeasureResult, State, TrialResult
from ablations.resuming import Standing
from ablations.sources import Sources
from ablations.store import Store, StoreError
from registry import Catalog, MissingExtra, hookimpl
from tests.ablations import strangers
from tests.ablations.followers import Recorder, followed_by

GRID: dict[str, Any] = {
    "name": "small",
    "model": {"depth": 1, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 32},
    "factors": {"norm": ["layernorm", "raising"]},
    "seeds": 2,
    "measures": ["parameters", "gradient_flow"],
}


@pytest.fixture(autouse=True)
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")


def run(
    out: Path, *, catalog: Catalog | None = None, given: dict[str, Any] = GRID, **options: Any
) -> ablations.RunSummary:
    catalog = catalog or followed_by()
    grid = ablations.load_grid(given, catalog)
    return ablations.run(grid, out, executor="inline", catalog=catalog, **options)


def test_a_first_run_has_nothing_to_say(tmp_path: Path) -> None:
    told: list[Standing] = []
    summary = run(tmp_path, started=told.append)
    assert told == [Standing(new=4)] == [summary.standing]
    assert summary.standing.lines == []
    assert summary.reasons == {"failed: RuntimeError: not today": 2}
    assert (summary.failed, summary.lost) == (2, 2)


def test_what_failed_is_tried_again_and_counted_as_such(tmp_path: Path) -> None:
    run(tmp_path)
    again = run(tmp_path)
    assert again.standing == Standing(reused=2, again=Counter(failed=2))
    assert again.standing.lines == ["2 reused, 2 tried again (2 failed)"]
    assert again.states == {"failed": 2}


def test_what_failed_is_left_where_that_is_asked_for(tmp_path: Path) -> None:
    run(tmp_path)
    left = run(tmp_path, retry_failed=False)
    assert left.standing == Standing(reused=2, left=Counter(failed=2))
    assert left.standing.lines == ["2 reused, not tried again: 2 failed"]
    assert (left.states, left.failed, left.lost) == ({}, 0, 2)


def test_what_is_left_does_not_keep_a_new_measure_away(tmp_path: Path) -> None:
    run(tmp_path)
    more = {**GRID, "measures": ["parameters", "gradient_flow", "signal_propagation"]}
    added = run(tmp_path, given=more, retry_failed=False)
    assert added.standing == Standing(new=4, left=Counter(failed=2))
    with sqlite3.connect(tmp_path / "results.sqlite") as connection:
        counts = connection.execute("SELECT measure, count(*) FROM trials GROUP BY 1 ORDER BY 1")
        assert counts.fetchall() == [
            ("gradient_flow", 4), ("parameters", 4), ("signal_propagation", 4),
        ]  # fmt: skip


STATES: tuple[State, ...] = ("failed", "crashed", "timeout")


def test_each_state_is_told_by_its_own_name(tmp_path: Path) -> None:
    given = {**GRID, "factors": {"norm": ["layernorm", "rmsnorm"]}}
    run(tmp_path, given=given)
    with Store.create_or_open(tmp_path) as store:
        held = [(key, identity) for key, (identity, _) in sorted(store.known().items())]
        flows = [(key, identity) for key, identity in held if key[2] == "gradient_flow"]
        for ((cell, seed, measure), identity), state in zip(flows, STATES, strict=False):
            left = MeasureResult(measure=measure, identity=identity, state=state)
            store.record(TrialResult(cell=cell, seed=seed, measures=(left,)))
    resumed = run(tmp_path, given=given)
    assert resumed.standing.lines == ["1 reused, 3 tried again (1 crashed, 1 failed, 1 timeout)"]
    assert resumed.states == {"done": 3}


def test_a_smaller_grid_says_what_it_does_not_ask_for(tmp_path: Path) -> None:
    given = {**GRID, "factors": {"norm": ["layernorm", "rmsnorm"]}, "seeds": 3}
    run(tmp_path, given=given)
    fewer = run(tmp_path, given={**given, "seeds": [0, 7], "measures": ["gradient_flow"]})
    assert fewer.standing == Standing(reused=2, new=2, unasked=12 - 2)
    assert fewer.standing.lines == [
        "2 reused, 2 new",
        "10 results of cells, seeds or measures that this grid does not ask for are kept, but not "
        "in its report",
    ]
    back = run(tmp_path, given=given)
    assert (back.reused, back.states) == (6, {})
    assert back.standing.lines[1].startswith("2 results of cells")


def test_one_result_is_told_in_the_singular() -> None:
    assert Standing(unasked=1).lines == [
        "1 result of cells, seeds or measures that this grid does not ask for is kept, but not in "
        "its report"
    ]


def test_what_an_edit_changed_is_told_apart_from_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**GRID, "factors": {"norm": ["layernorm", "rmsnorm"]}}
    run(tmp_path, given=given)
    real = Sources.of
    monkeypatch.setattr(
        Sources, "of", lambda self, name: "edited" if "norms" in name else real(self, name)
    )
    summary = run(tmp_path, given={**given, "seeds": 3})
    assert summary.standing.lines == [
        "4 measured anew (their code, files or environment changed), 2 new"
    ]


def test_the_command_says_it_before_and_after(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = followed_by()
    monkeypatch.setattr(running, "installed", lambda plugins: catalog)
    Path("grid.yaml").write_text(ablations.load_grid(GRID, catalog).text)
    command = ["run", "grid.yaml", "--executor", "inline"]
    assert cli.run_command_line(command) == 1
    first = capsys.readouterr().err.splitlines()
    (place,) = (n for n, line in enumerate(first) if line.startswith("4 trials: 2 done, 2 failed"))
    assert first[place + 1] == "  2 failed: RuntimeError: not today"
    assert cli.run_command_line([*command, "--no-retry-failed"]) == 1
    left = capsys.readouterr().err.splitlines()
    assert left[0] == "2 reused, not tried again: 2 failed"
    assert left[1].startswith("4 trials: nothing to do, 2 reused, not tried again: 2 failed, ")
    monkeypatch.setattr(strangers.Raising, "forward", lambda self, x: x)
    assert cli.run_command_line([*command, "--retry-failed"]) == 0
    again = capsys.readouterr().err.splitlines()
    assert again[0] == "2 reused, 2 tried again (2 failed)"
    assert any(line.startswith("4 trials: 2 done, 2 reused, ") for line in again)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but the lock's."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


class Missing:
    @hookimpl
    def run_started(self, run: Any) -> None:
        raise MissingExtra("install it")


def test_fresh_puts_the_old_run_back_where_a_follower_refuses_the_new_one(tmp_path: Path) -> None:
    run(tmp_path / "run")
    before = contents(tmp_path)
    recorder = Recorder()
    with pytest.raises(MissingExtra, match=r"^install it$"):
        run(tmp_path / "run", catalog=followed_by(recorder, Missing()), fresh=True)
    assert contents(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    # Those who had been told of the new run hear nothing of the old one.
    assert (recorder.heard[-1][0], recorder.heard[-1][2]) == ("run_finished", [])


def test_fresh_puts_the_old_run_back_where_the_new_one_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "run")
    before = contents(tmp_path)

    def full(self: Store, plan: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(Store, "begin", full)
    with pytest.raises(StoreError, match="the disk is full"):
        run(tmp_path / "run", fresh=True)
    assert contents(tmp_path) == before


def test_fresh_stays_where_a_run_stopped_after_it_began(tmp_path: Path) -> None:
    run(tmp_path / "run")

    def stop(state: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", fresh=True, ended=stop)
    assert len(list(tmp_path.iterdir())) == 2
    assert run(tmp_path / "run").standing == Standing(reused=1, again=Counter(), new=3)
