"""The run directory: what is kept, when, and what becomes of what a frame holds."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ablations.results import ArrayValues, MeasureResult, ProfileValues, TrialResult
from ablations.store import (
    DamagedStore,
    NotAStore,
    PlannedCellRow,
    RunLocked,
    RunPlan,
    Store,
    StoreError,
)

ROOT = Path(__file__).parents[2]


def cell(name: str, norm: str, skipped: str | None = None) -> PlannedCellRow:
    return PlannedCellRow(
        cell=name, label=f"norm={norm}", levels={"norm": norm}, content={"n": norm}, skipped=skipped
    )


def info(metric: str, form: str) -> dict[str, Any]:
    return {
        "metric": metric,
        "form": form,
        "measure": "flow",
        "unit": "",
        "better": "neither",
        "scale": "linear",
        "primary": True,
        "summary": "",
        "convention": "",
    }


PLAN = RunPlan(
    name="norms",
    grid="name: norms # größer\n",
    cells=(cell("b", "rmsnorm"), cell("a", "layernorm"), cell("c", "none", "3 is odd")),
    seeds=(7, 3),
    measures=("flow",),
    identities={("b", "flow"): "id-b", ("a", "flow"): "id-a"},
    settings=({"key": "depth", "value": "12", "origin": "default"},),
    factors=tuple(
        {"factor": "norm", "level": level, "position": n, "baseline": n == 0}
        for n, level in enumerate(("layernorm", "rmsnorm", "none"))
    ),
    metric_info=(info("flow.ratio", "metric"), info("flow.block", "profile")),
    environment=({"key": "torch", "value": "2"},),
)


def result(name: str = "a", seed: int = 7, **fields: Any) -> TrialResult:
    fields = {"measure": "flow", "identity": f"id-{name}", "state": "done"} | fields
    return TrialResult(cell=name, seed=seed, measures=(MeasureResult(**fields),))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create_or_open(tmp_path / "run") as store:
        store.begin(PLAN)
        yield store


def rows(frame: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return list(frame[list(columns)].itertuples(index=False, name=None))


def test_frames_hold_what_was_planned_in_the_order_of_the_grid(store: Store) -> None:
    frames = store.frames()
    assert (frames.name, frames.grid) == ("norms", "name: norms # größer\n")
    assert rows(frames.cells, "cell", "label", "norm") == [
        ("b", "norm=rmsnorm", "rmsnorm"),
        ("a", "norm=layernorm", "layernorm"),
        ("c", "norm=none", "none"),
    ]
    assert rows(frames.trials, "cell", "seed", "measure", "state", "message") == [
        ("b", 7, "flow", "missing", ""),
        ("b", 3, "flow", "missing", ""),
        ("a", 7, "flow", "missing", ""),
        ("a", 3, "flow", "missing", ""),
        ("c", 7, "flow", "skipped", "3 is odd"),
        ("c", 3, "flow", "skipped", "3 is odd"),
    ]
    assert rows(frames.factors, "factor", "level", "position", "baseline") == [
        ("norm", "layernorm", 0, True),
        ("norm", "rmsnorm", 1, False),
        ("norm", "none", 2, False),
    ]
    assert rows(frames.settings, "key", "value", "origin") == [("depth", "12", "default")]
    assert rows(frames.environment, "key", "value") == [("torch", "2")]
    assert list(frames.metric_info["metric"]) == ["flow.ratio", "flow.block"]
    assert list(frames.components) == [
        "kind", "name", "plugin", "version", "options", "summary", "source",
    ]  # fmt: skip
    assert (len(frames.metrics), len(frames.profiles), len(frames.components)) == (0, 0, 0)


def test_a_result_comes_back_whole(store: Store) -> None:
    array = ArrayValues(shape=(2, 1), dtype="<f4", data=b"\0\1\2\3\4\5\6\7")
    store.record(
        result(
            message="slow",
            traceback="trace",
            marks=("leaks", "cancelled_probe"),
            seconds=0.5,
            metrics={"flow.ratio": 2},
            profiles={
                "flow.block": ProfileValues(
                    axis="depth", positions=(1, 0, 0), steps=(5, 5, 2), values=(3.0, 2.0, 1.0)
                )
            },
            arrays={"flow.map": array},
        )
    )
    store.record(result(seed=3, profiles={"flow.block": ProfileValues.along("depth", [1.5])}))
    frames = store.frames()
    done = frames.trials.query("state == 'done'")
    assert rows(done, "cell", "seed", "message", "marks", "seconds") == [
        ("a", 7, "slow", "leaks,cancelled_probe", 0.5),
        ("a", 3, "", "", 0.0),
    ]
    assert rows(frames.metrics, *frames.metrics) == [("a", 7, "flow.ratio", 2.0)]
    assert rows(frames.profiles, *frames.profiles) == [
        ("a", 7, "flow.block", "depth", 0, 2, 1.0),
        ("a", 7, "flow.block", "depth", 0, 5, 2.0),
        ("a", 7, "flow.block", "depth", 1, 5, 3.0),
        ("a", 3, "flow.block", "depth", 0, 0, 1.5),
    ]
    assert store.arrays("a", 7, "flow") == {"flow.map": array}
    assert store.arrays("a", 3, "flow") == {}


def test_a_result_replaces_the_earlier_one_of_that_measure_alone(store: Store) -> None:
    other = replace(result().measures[0], measure="other", metrics={"other.n": 1.0})
    both = replace(result(metrics={"flow.ratio": 1.0, "flow.gone": 1.0}).measures[0])
    store.record(TrialResult(cell="a", seed=7, measures=(both, other)))
    store.record(result(state="failed", message="no", metrics={"flow.ratio": 9.0}))
    assert store.known() == {
        ("a", 7, "flow"): ("id-a", "failed"),
        ("a", 7, "other"): ("id-a", "done"),
    }
    metrics = store._connection.execute("SELECT metric, value FROM metrics ORDER BY 1").fetchall()
    assert metrics == [("flow.ratio", 9.0), ("other.n", 1.0)]


def test_a_result_of_another_identity_is_missing_but_known(store: Store) -> None:
    store.record(
        result(
            identity="of an edited plugin",
            metrics={"flow.ratio": 1.0},
            profiles={"flow.block": ProfileValues.along("depth", [1.0])},
        )
    )
    frames = store.frames()
    assert set(frames.trials["state"]) == {"missing", "skipped"}
    assert (len(frames.metrics), len(frames.profiles)) == (0, 0)
    assert store.known() == {("a", 7, "flow"): ("of an edited plugin", "done")}


def test_another_grid_shows_what_belongs_to_it_and_keeps_the_rest(store: Store) -> None:
    store.record(result(metrics={"flow.ratio": 1.0}))
    store.record(result("b", metrics={"flow.ratio": 2.0}))
    smaller = replace(
        PLAN, cells=(cell("a", "layernorm"),), seeds=(7, 8), identities={("a", "flow"): "id-a"}
    )
    store.begin(smaller)
    frames = store.frames()
    assert rows(frames.trials, "cell", "seed", "state") == [("a", 7, "done"), ("a", 8, "missing")]
    assert rows(frames.metrics, "cell", "value") == [("a", 1.0)]
    store.begin(PLAN)
    assert rows(store.frames().metrics, "cell", "value") == [("b", 2.0), ("a", 1.0)]


FLOATS = st.floats(width=64)


def bits(values: list[float]) -> list[bytes]:
    """NaNs are one value, whatever their bits; zeros are two."""
    return [struct.pack("<d", math.nan if math.isnan(value) else value) for value in values]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(FLOATS, min_size=1, max_size=6))
@example(values=[math.nan, math.inf, -math.inf, -0.0, 5e-324, 2.0**53])
@example(values=[-math.inf])
def test_every_float_comes_back_as_itself(store: Store, values: list[float]) -> None:
    store.record(
        result(
            seconds=values[0],
            metrics={"flow.ratio": values[0]},
            profiles={"flow.block": ProfileValues.along("depth", values)},
        )
    )
    frames = store.frames()
    assert bits(list(frames.metrics["value"])) == bits(values[:1])
    assert bits(list(frames.profiles["value"])) == bits(values)
    seconds = frames.trials.loc[frames.trials["state"] == "done", "seconds"]
    assert bits(list(seconds)) == bits(values[:1])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=())))
@example(text="half a pair \ud800, a zero \0, مرحبا")
def test_every_text_comes_back(store: Store, text: str) -> None:
    store.record(result(state="failed", message=text))
    (message,) = store._connection.execute("SELECT message FROM trials").fetchone()
    assert message == text.encode("utf-8", "backslashreplace").decode("utf-8")


def test_a_failure_while_recording_leaves_the_earlier_result(store: Store) -> None:
    store.record(result(metrics={"flow.ratio": 1.0}))
    with pytest.raises(ValueError, match="could not convert string to float: 'much'"):
        store.record(result(state="failed", metrics={"flow.ratio": "much"}))
    assert store.known() == {("a", 7, "flow"): ("id-a", "done")}
    assert list(store.frames().metrics["value"]) == [1.0]
    store.record(result(metrics={"flow.ratio": 2.0}))


def test_a_clean_end_leaves_a_plain_file_and_the_grid(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        store.begin(PLAN)
        assert (tmp_path / "results.sqlite-wal").exists()
    store.close()
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "grid.yaml", "results.sqlite"}
    assert (tmp_path / "grid.yaml").read_text(encoding="utf-8") == PLAN.grid


def test_results_are_kept_from_run_to_run(tmp_path: Path) -> None:
    with Store.create_or_open(tmp_path) as store:
        store.begin(PLAN)
        store.record(result())
    with Store.create_or_open(tmp_path) as store:
        assert store.known() == {("a", 7, "flow"): ("id-a", "done")}


def test_results_are_read_while_a_run_goes_on(store: Store) -> None:
    with Store.open_readonly(store.directory) as reader:
        store.record(result(metrics={"flow.ratio": 1.0}))
        assert reader.known() == {("a", 7, "flow"): ("id-a", "done")}
        store.close()  # while it is being read
        assert len(reader.frames().metrics) == 1
    with Store.create_or_open(store.directory) as again:
        assert len(again.known()) == 1
    assert not (store.directory / "results.sqlite-wal").exists()


def test_a_reader_cannot_write(store: Store) -> None:
    with (
        Store.open_readonly(store.directory) as reader,
        pytest.raises(
            StoreError,
            match=r"results.sqlite: it cannot be written to; check its permissions and run again; "
            "what has been recorded is kept$",
        ),
    ):
        reader.record(result())


KILLED = """\
import os, signal, sys
from tests.ablations.test_store import PLAN, Store, result
store = Store.create_or_open(sys.argv[1])
store.begin(PLAN)
store.record(result())
if sys.argv[2] == "checkpointed":
    store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
store._connection.execute("BEGIN IMMEDIATE")
store._connection.execute("DELETE FROM trials")
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(directory: Path, how: str = "") -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(directory), how], cwd=ROOT, check=False)


def test_a_kill_loses_nothing_that_was_recorded(tmp_path: Path) -> None:
    killed(tmp_path)
    with Store.open_readonly(tmp_path) as reader:
        assert len(reader.known()) == 1
    with Store.create_or_open(tmp_path) as store:  # its lock died with it
        assert len(store.known()) == 1


READ = """\
import os, sys
from ablations.store import Store
if os.getuid() == 0:
    os.setuid(65534)  # permissions mean nothing to root
with Store.open_readonly(sys.argv[1]) as store:
    print(len(store.known()))
"""


@pytest.mark.parametrize("end", ["clean", "killed", "checkpointed"])
def test_a_directory_that_is_not_writable_is_read(end: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) / "run"
        if end == "clean":
            with Store.create_or_open(directory) as store:
                store.begin(PLAN)
                store.record(result())
        else:
            killed(directory, end)
        if end == "checkpointed":  # as if the file alone had been copied
            for suffix in ("-wal", "-shm"):
                Path(f"{directory / 'results.sqlite'}{suffix}").unlink()
        Path(name).chmod(0o755)
        directory.chmod(0o555)
        ended = subprocess.run(
            [sys.executable, "-c", READ, str(directory)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        directory.chmod(0o755)
        assert (ended.stdout, ended.stderr) == ("1\n", "")


def test_two_runs_of_a_directory_are_refused(store: Store) -> None:
    with pytest.raises(RunLocked) as refused:
        Store.create_or_open(store.directory)
    assert str(refused.value) == (
        f"process {os.getpid()} carries out a run in {store.directory}: wait for it, or choose "
        "another directory"
    )
    store.close()
    Store.create_or_open(store.directory).close()


def refused(directory: Path, kind: type[StoreError], message: str) -> None:
    """Both ways of opening are refused with that message; the lock is not kept."""
    for way in (Store.create_or_open, Store.open_readonly, Store.create_or_open):
        with pytest.raises(StoreError) as error:
            way(directory)
        assert (type(error.value), str(error.value)) == (kind, message)


def test_what_is_not_a_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    path.write_bytes(b"metric,value\n" * 200)
    refused(tmp_path, NotAStore, f"{path} is not an SQLite database")
    assert path.read_bytes() == b"metric,value\n" * 200


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    refused(
        tmp_path, NotAStore, f"{path} is a database of another program: choose another directory"
    )
    assert path.read_bytes() == before


def test_a_newer_layout_is_refused(store: Store) -> None:
    store._connection.execute("PRAGMA user_version = 2")
    store.close()
    refused(
        store.directory,
        NotAStore,
        f"{store.path} has layout 2, and this version of ablations reads layout 1: install the "
        "version that wrote it",
    )


@pytest.mark.parametrize("damage", ["truncated", "overwritten"])
def test_a_damaged_file_is_refused(store: Store, damage: str) -> None:
    for seed in range(200):
        store.record(result(seed=seed, message="x" * 500))
    store.close()
    content = store.path.read_bytes()
    half = len(content) // 2
    content = content[:half] if damage == "truncated" else content[:half] + b"\xff" * half
    store.path.write_bytes(content)
    for way in (Store.create_or_open, Store.open_readonly):
        with pytest.raises(DamagedStore) as error:
            way(store.directory)
        text = str(error.value)
        assert text.startswith(f"{store.path} is damaged (")
        assert text.endswith("); move it aside and run again, or restore a copy of it")
        assert "\n" not in text
    assert store.path.read_bytes() == content


def test_a_full_disk_keeps_what_is_recorded(store: Store) -> None:
    store.record(result())
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError) as error:
        store.record(result("b", traceback="x" * 100_000))
    assert str(error.value) == (
        f"{store.path}: the disk is full; free some space and run again; "
        "what has been recorded is kept"
    )
    assert store.known() == {("a", 7, "flow"): ("id-a", "done")}


def test_a_directory_without_a_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as error:
        Store.open_readonly(tmp_path)
    assert str(error.value) == f"{tmp_path} holds no run: there is no results.sqlite"
    with (
        Store.create_or_open(tmp_path) as store,
        pytest.raises(StoreError, match=r"^nothing has been run in this directory yet$"),
    ):
        store.frames()


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as error:
        Store.create_or_open(tmp_path / "file" / "run")
    assert str(error.value) == f"{tmp_path / 'file' / 'run'} cannot be made: Not a directory"


def test_a_directory_name_with_every_awkward_character(tmp_path: Path) -> None:
    directory = tmp_path / "a b?mode=ro#%41é"
    with Store.create_or_open(directory) as store:
        store.begin(PLAN)
    assert (directory / "results.sqlite").is_file()
    with Store.open_readonly(directory) as reader:
        assert len(reader.frames().cells) == 3


def test_opening_imports_neither_pandas_nor_torch() -> None:
    code = "import ablations.store, ablations.results, sys, json; print(json.dumps([*sys.modules]))"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    modules = set(json.loads(ended.stdout))
    assert "sqlite3" in modules
    assert not {"pandas", "torch", "numpy"} & modules


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"positions": (0,), "values": (1.0, 2.0)},
            "a profile has as many positions (and steps, if any) as values, not 1 (and 0) for 2",
        ),
        (
            {"positions": (0, 1), "values": (1.0, 2.0), "steps": (0,)},
            "a profile has as many positions (and steps, if any) as values, not 2 (and 1) for 2",
        ),
        (
            {"positions": (0, 0), "values": (1.0, 2.0), "steps": (4, 4)},
            "a profile has one value at each position (and step, if any)",
        ),
    ],
)
def test_a_profile_with_holes_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"^a profile has") as error:
        ProfileValues(axis="depth", **fields)
    assert str(error.value) == message
