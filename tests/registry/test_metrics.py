"""Figures that change with the units of another one, which must be a metric of the same measure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from registry import InvalidSpec, MeasureSpec, Metric, Profile

SIZE = Metric(name="stream_size", unit="rms", summary="Size of the stream.")


def metric(name: str, scales_with: str = "") -> Metric:
    return Metric(name=name, unit="1", summary="A figure.", scales_with=scales_with)


def profile(name: str, scales_with: str = "") -> Profile:
    return Profile(name=name, unit="1", summary="A row.", axis="depth", scales_with=scales_with)


def measure(metrics: Sequence[Metric], profiles: Sequence[Profile] = ()) -> MeasureSpec:
    return MeasureSpec(
        name="flow", target="a:Flow", mode="static", metrics=metrics, profiles=profiles
    )  # type: ignore[arg-type]


def test_a_figure_may_scale_with_a_metric_of_its_measure() -> None:
    spec = measure([metric("raw", "stream_size"), SIZE], [profile("stream_size", "stream_size")])
    assert [entry.scales_with for entry in (*spec.metrics, *spec.profiles)] == [
        "stream_size",
        "",
        "stream_size",
    ]


@pytest.mark.parametrize(
    ("metrics", "profiles", "message"),
    [
        (
            [metric("raw", "stream_sizes"), SIZE],
            [],
            "metric 'raw' of measure 'flow' scales with 'stream_sizes', which is none of its other "
            "metrics; did you mean 'stream_size'? known: stream_size",
        ),
        (
            [metric("raw", "raw")],
            [],
            "metric 'raw' of measure 'flow' scales with 'raw', which is none of its other metrics; "
            "none is known",
        ),
        (
            [SIZE],
            [profile("row", "row")],
            "profile 'row' of measure 'flow' scales with 'row', which is none of its other "
            "metrics; known: stream_size",
        ),
    ],
)
def test_it_scales_with_nothing_else(
    metrics: Sequence[Metric], profiles: Sequence[Profile], message: str
) -> None:
    with pytest.raises(InvalidSpec, match=f"^{re.escape(message)}$"):
        measure(metrics, profiles)


def test_the_name_is_text() -> None:
    with pytest.raises(
        InvalidSpec, match=r"^the scales_with of metric 'raw' is text, not \['size'\]$"
    ):
        metric("raw", ["size"])  # type: ignore[arg-type]
    with pytest.raises(InvalidSpec, match=r"^the scales_with of profile 'raw' is text, not None$"):
        profile("raw", None)  # type: ignore[arg-type]


def test_what_a_measure_needs_is_text() -> None:
    spec = MeasureSpec(name="flow", target="a:F", mode="static", metrics=(), needs="weights")
    assert spec.needs == "weights"
    with pytest.raises(InvalidSpec, match=r"^the needs of measure 'flow' is text, not 3$"):
        MeasureSpec(
            name="flow",
            target="a:F",
            mode="static",
            metrics=(),
            needs=3,  # type: ignore[arg-type]
        )
