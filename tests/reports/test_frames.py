"""The contract of the frames: what is refused, and with which words."""

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import reports
from reports import Frames
from tests.reports.simulated import default_run, empty_run, make_frames


@pytest.fixture
def frames() -> Frames:
    return make_frames({"norm": ["a", "b"]}, {"x": [[1.0, 2.0], [3.0, 4.0]]})


def test_frozen(frames: Frames) -> None:
    with pytest.raises(FrozenInstanceError):
        frames.name = "other"  # type: ignore[misc]


def test_unfinished_and_default_runs_are_valid() -> None:
    assert len(default_run(seeds=2).cells) == 72
    assert empty_run().metrics.empty


def test_missing_column_is_named(frames: Frames) -> None:
    with pytest.raises(
        ValueError, match=r"^frame 'trials': missing column 'marks'; expected"
    ) as error:
        replace(frames, trials=frames.trials.drop(columns="marks"))
    assert "got ['cell', 'seed', 'measure', 'state', 'message', 'seconds']" in str(error.value)


@pytest.mark.parametrize(
    ("frame", "column", "value", "message"),
    [
        ("trials", "state", "lost", "frame 'trials', column 'state': unknown 'lost'; expected one "
         "of: done, diverged, failed, crashed, timeout, skipped, missing"),
        ("trials", "message", None, "frame 'trials', column 'message': expected text in every row"),
        ("trials", "seed", 0.5, "frame 'trials', column 'seed': expected integer in every row"),
        ("metrics", "value", "1", "frame 'metrics', column 'value': expected number in every row"),
        ("metrics", "metric", "y", "frame 'metrics', column 'metric': unknown 'y'; expected one "
         "of: metric_info, form metric"),
        ("metrics", "cell", "f" * 16, "frame 'metrics', column 'cell': unknown 'ffffffffffffffff'; "
         "expected one of: cells.cell"),
        ("metric_info", "scale", "log2", "frame 'metric_info', column 'scale': unknown 'log2'; "
         "expected one of: linear, log"),
        ("cells", "norm", "c", "frame 'cells', column 'norm': unknown 'c'; expected one of: "
         "factors.level"),
        ("factors", "baseline", True, "frame 'factors', column 'baseline': factor 'norm' must have "
         "exactly one baseline level, got 2"),
        ("settings", "origin", "guess", "frame 'settings', column 'origin': unknown 'guess'; "
         "expected one of: given, default, factor"),
    ],
)  # fmt: skip
def test_wrong_value_is_named(
    frames: Frames, frame: str, column: str, value: Any, message: str
) -> None:
    table = getattr(frames, frame).copy()
    table[column] = [*table[column].to_list()[:-1], value]
    with pytest.raises(ValueError) as error:
        replace(frames, **{frame: table})
    assert str(error.value).startswith(message)


def test_repeated_key_is_named(frames: Frames) -> None:
    twice = pd.concat([frames.metrics, frames.metrics.iloc[[0]]])
    with pytest.raises(ValueError, match="'metrics': cell, seed, metric must be unique, got twice"):
        replace(frames, metrics=twice)


def test_factor_columns_are_the_factors(frames: Frames) -> None:
    with pytest.raises(ValueError, match=r"expected \['norm'\], got \['norm', 'width'\]"):
        replace(frames, cells=frames.cells.assign(width="1"))


def test_cells_with_equal_levels_are_refused(frames: Frames) -> None:
    with pytest.raises(ValueError, match="two cells have the same level of every factor"):
        replace(frames, cells=frames.cells.assign(norm="a"))


def test_what_a_metric_scales_with_is_a_metric(frames: Frames) -> None:
    info = frames.metric_info
    scaled = replace(frames, metric_info=info.assign(scales_with="x"))
    assert list(scaled.metric_info["scales_with"]) == ["x"] * len(info)
    replace(frames, metric_info=info.assign(scales_with=""))
    with pytest.raises(ValueError) as error:
        replace(frames, metric_info=info.assign(scales_with="y"))
    assert str(error.value) == (
        "frame 'metric_info', column 'scales_with': unknown 'y'; expected one of: metric_info, "
        "form metric"
    )
    with pytest.raises(ValueError) as error:
        replace(frames, metric_info=info.assign(scales_with=None))
    assert str(error.value).startswith(
        "frame 'metric_info', column 'scales_with': expected text in every row, got object"
    )


@pytest.mark.parametrize("flag", ["exact", "defined_when_diverged", "compared", "may_be_infinite"])
def test_optional_flags_are_flags(frames: Frames, flag: str) -> None:
    info = frames.metric_info
    assert replace(frames, metric_info=info.assign(**{flag: True})).metric_info[flag].all()
    with pytest.raises(ValueError) as error:
        replace(frames, metric_info=info.assign(**{flag: "yes"}))
    assert str(error.value) == (
        f"frame 'metric_info', column '{flag}': expected flag in every row, got str"
    )


def test_arrays_are_optional_and_of_known_cells(frames: Frames) -> None:
    assert frames.arrays == {}
    cell = frames.cells["cell"].iloc[0]
    held = replace(frames, arrays={(cell, 0, "x.map"): np.eye(2)})
    assert replace(held, name="other").arrays[cell, 0, "x.map"].shape == (2, 2)
    assert pickle.loads(pickle.dumps(held)).arrays.keys() == held.arrays.keys()
    assert held == replace(frames, arrays={})
    with pytest.raises(ValueError) as error:
        replace(frames, arrays={("f" * 16, 0, "x.map"): np.eye(2)})
    assert str(error.value) == (
        "arrays: unknown cell 'ffffffffffffffff'; expected one of: cells.cell"
    )


def test_import_is_light() -> None:
    code = (
        "import sys, reports; heavy = {'pandas', 'matplotlib', 'seaborn', 'scipy', 'jinja2'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules); reports.Frames;"
        "assert 'pandas' in sys.modules and 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_exist() -> None:
    assert reports.ABLATIONS_PACKAGE == "ablations"
    assert all(getattr(reports, name) is not None for name in reports.__all__)
    with pytest.raises(AttributeError, match="'reports' has no attribute 'nothing'"):
        _ = reports.nothing
