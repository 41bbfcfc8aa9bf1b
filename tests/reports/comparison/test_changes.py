"""What changed between two runs, and what may not be compared for it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reports import Frames
from reports.comparison.changes import changes, comparable_metrics, of_machine
from reports.comparison.compared_run import ComparedRun
from tests.reports.simulated import default_run, make_frames


def small(**settings: str) -> Frames:
    frames = make_frames({"norm": ["a", "b"]}, {"x": np.ones((2, 2)), "y": np.ones((2, 2))})
    rows = [(key, value, "given") for key, value in {"depth": "12", **settings}.items()]
    return replace(frames, settings=pd.DataFrame(rows, columns=["key", "value", "origin"]))


def told(first: Frames, second: Frames, **of_first: object) -> list[tuple[str, str, str, str]]:
    found = changes(ComparedRun(name="1", frames=first, **of_first),  # type: ignore[arg-type]
                    ComparedRun(name="2", frames=second))  # fmt: skip
    return [(one.part, one.what, one.first, one.second) for one in found]


def test_nothing_differs_between_a_run_and_itself() -> None:
    frames = default_run(seeds=2)
    assert told(frames, frames) == []


def test_values_levels_seeds_and_names_are_told() -> None:
    first = small()
    other = make_frames({"norm": ["a", "c"], "size": ["1"]}, {"x": np.ones((2, 3))})
    rows = [("depth", "6", "given"), ("d_model", "8", "given"), ("norm", "a | c", "factor"),
            ("seeds", "[0, 1, 2]", "given")]  # fmt: skip
    settings = pd.DataFrame(rows, columns=["key", "value", "origin"])
    second = replace(other, name="other", settings=settings)
    assert told(first, second) == [
        ("grid", "name", "simulated", "other"),
        ("grid", "factor norm", "a, b", "a, c"),
        ("grid", "seeds", "0, 1", "0, 1, 2"),
        ("grid", "factor size", "—", "1"),
        ("setting", "depth", "12", "6"),
        ("setting", "d_model", "—", "8"),
        ("metric", "metric y", "there", "—"),
    ]


def test_another_baseline_is_told_by_the_order_of_levels() -> None:
    frames = small()
    turned = replace(frames, factors=frames.factors.assign(baseline=~frames.factors["baseline"]))
    assert told(frames, turned) == [("grid", "factor norm", "a, b", "b, a")]


def test_components_differ_by_plugin_version_options_and_code() -> None:
    frames = default_run(seeds=1)
    newer = frames.components.assign(version=["0.1.0", "0.2.0"])
    assert told(frames, replace(frames, components=newer)) == [
        ("component", "norm rmsnorm(eps=1e-06)", "ablations 0.1.0", "ablations 0.2.0")
    ]
    code = {("norm", "rmsnorm", "eps=1e-06"): "aa"}
    assert told(frames, frames, code=code) == [
        ("component", "norm rmsnorm(eps=1e-06)", "ablations 0.1.0, code aa", "ablations 0.1.0")
    ]


def test_versions_and_hardware_are_told() -> None:
    frames = small()
    newer = pd.DataFrame([("python", "3.12"), ("cpu", "x")], columns=["key", "value"])
    assert told(frames, replace(frames, environment=newer)) == [
        ("environment", "python", "3.11", "3.12"),
        ("environment", "cpu", "—", "x"),
    ]


def test_of_conventions_only_what_differs_is_told_once_for_all_metrics() -> None:
    first, second = small(), small()
    first = replace(first, metric_info=first.metric_info.assign(convention="a; b 1, c"))
    second = replace(second, metric_info=second.metric_info.assign(convention="a; b 2, c"))
    assert told(first, second) == [("metric", "convention of x and y", "b 1", "b 2")]
    turned = replace(first, metric_info=first.metric_info.assign(convention="b 1; a; c"))
    assert told(first, turned) == [("metric", "convention of x and y", "a; b 1, c", "b 1; a; c")]


def measured(measure: str = "m", unit: str = "nats", **info: object) -> Frames:
    frames = small()
    return replace(
        frames, metric_info=frames.metric_info.assign(measure=measure, unit=unit, **info)
    )


def test_metrics_of_one_unit_and_scale_are_compared() -> None:
    assert comparable_metrics(measured(), measured()) == (["x", "y"], {})
    for other in (measured(unit="bits"), measured(scale="log")):
        kept, reasons = comparable_metrics(measured(), other)
        assert kept == []
        assert reasons == dict.fromkeys("xy", "its unit or scale is another one")
    never = measured(compared=False)
    assert comparable_metrics(never, never)[1]["x"] == (
        "depends on what else the machine did: never compared"
    )


@pytest.mark.parametrize(
    ("measure", "unit"), [("speed", "of the baseline cell's time"), ("costs", "FLOPs"), ("m", "s")]
)
def test_times_and_costs_are_not_compared_across_environments(measure: str, unit: str) -> None:
    first = measured(measure, unit)
    assert comparable_metrics(first, first)[0] == ["x", "y"]
    newer = pd.DataFrame([("python", "3.12")], columns=["key", "value"])
    why = dict.fromkeys("xy", "a time or cost, and the environments differ")
    assert comparable_metrics(first, replace(first, environment=newer)) == ([], why)
    on_gpu = replace(
        first,
        settings=pd.DataFrame([("device", "cuda", "given")], columns=["key", "value", "origin"]),
    )
    assert comparable_metrics(first, on_gpu) == ([], why)
    rows = [("python", "3.11"), ("command", "ablations run")]
    again = replace(first, environment=pd.DataFrame(rows, columns=["key", "value"]))
    assert comparable_metrics(first, again)[0] == ["x", "y"]


def test_figures_of_the_model_are_compared_across_environments() -> None:
    newer = pd.DataFrame([("python", "3.12")], columns=["key", "value"])
    assert comparable_metrics(measured(), replace(measured(), environment=newer))[0] == ["x", "y"]


def test_what_is_a_time_is_told_by_its_unit_or_measure() -> None:
    assert of_machine("training", "tokens/s")
    assert of_machine("mine", "ms")
    assert of_machine("speed", "of the baseline cell's time")
    assert not of_machine("training", "nats")
    assert not of_machine("training", "steps")
