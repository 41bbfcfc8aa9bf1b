"""The run directory: what is kept, when, and what becomes of what a frame holds."""

from __future__ import annotations

import contextlib
import math
import sqlite3
import struct
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ablations.blocks import Call, View, Wiring
from ablations.results import ArrayValues, ProfileValues, TrialResult
from ablations.storage.digests import seal_plan
from ablations.store import (
    Store,
    StoreError,
)
from tests.ablations.stores import PLAN, cell, result, rows

ROOT = Path(__file__).parents[2]


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


def test_cells_are_written_together_in_bounded_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Store.create_or_open(tmp_path / "whole")
    monkeypatch.setattr("ablations.store.TOGETHER", 2)
    few = Store.create_or_open(tmp_path / "few")
    with whole, few:
        for store in (whole, few):
            store.begin(PLAN)
            relabelled = replace(PLAN.cells[0], label="another")
            store.begin(replace(PLAN, cells=(relabelled, *PLAN.cells[1:])))
        pd.testing.assert_frame_equal(few.frames().cells, whole.frames().cells)
        assert [few.label(name) for name in "abc"] == ["norm=layernorm", "another", "norm=none"]


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


def seen(*parts: str) -> View:
    calls = tuple(Call(part=part, inputs=(n,)) for n, part in enumerate(parts))
    return View(wirings=(Wiring(layers=(0,), calls=calls),))


def test_what_was_seen_of_blocks_is_kept_from_grid_to_grid(tmp_path: Path) -> None:
    asked = replace(PLAN, blocks=tuple({"block": n, "viewing": f"of-{n}"} for n in "ab"))
    found = {"of-b": seen("norm", "out"), "of-c": View(reason="größer")}
    with Store.create_or_open(tmp_path) as store:
        store.begin(asked)
        assert store.views() == {}
        store.keep_views({"of-b": seen("out")})
        store.keep_views(found)
        store.begin(asked)
        assert store.views() == found
    with Store.open_readonly(tmp_path) as store:
        columns = ("block", "call", "part", "inputs", "reason")
        assert rows(store.frames().blocks, *columns) == [
            ("a", 1, "unseen", "", "not looked at yet"),
            ("b", 1, "norm", "0", ""),
            ("b", 2, "out", "1", ""),
        ]


def test_a_directory_from_before_blocks_were_kept_is_read_without_them(tmp_path: Path) -> None:
    wired = {"block": "pre", "call": 1, "part": "out", "inputs": "0"}
    with Store.create_or_open(tmp_path) as made:
        made.begin(replace(PLAN, blocks=(wired,)))
    with Store.open_readonly(tmp_path) as store:
        assert store.frames().blocks.to_dict("records") == [wired]
    with contextlib.closing(sqlite3.connect(made.path)) as connection, connection:
        connection.execute("DELETE FROM meta WHERE key = 'blocks'")
        seal_plan(connection)
    with Store.open_readonly(tmp_path) as store:
        assert store.frames().blocks.empty


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


def test_long_frames_are_read_in_parts_with_texts_as_categories(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ablations.storage.frames._ROWS", 2)
    store.begin(PLAN)
    values = [1.0, float("nan"), float("-inf"), 0.5, 2.0]
    for name in ("b", "a"):
        profiles = {"flow.block": ProfileValues.along("depth", values)}
        store.record(result(name, metrics={"flow.ratio": 2}, profiles=profiles))
    frames = store.frames()
    assert frames.profiles["cell"].to_list() == ["b"] * 5 + ["a"] * 5
    assert frames.profiles["position"].to_list() == [*range(5)] * 2
    assert frames.profiles["value"].to_numpy() == pytest.approx(values * 2, nan_ok=True)
    for frame in (frames.profiles, frames.metrics):
        texts = [name for name, dtype in frame.dtypes.items() if dtype == "category"]
        assert texts == [name for name in frame if name in ("cell", "metric", "profile", "axis")]
