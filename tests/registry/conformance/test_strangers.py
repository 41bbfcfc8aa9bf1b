"""What the checks must let pass: published parts as strangers write them."""

from __future__ import annotations

from typing import Any

import pytest

from registry import conformance
from tests.registry.conformance import strangers
from tests.registry.conformance.capable import Capable


@pytest.mark.parametrize(
    ("kind", "cls"),
    [
        ("norm", strangers.DynamicTanh),
        ("attention", strangers.GatedLinear),
        ("attention", strangers.Recurrent),
        ("attention", strangers.Differential),
        ("attention", Capable),
        ("feed_forward", strangers.Mixture),
        ("initializer", strangers.WidthScaled),
        ("position", strangers.RelativeTable),
        ("placement", strangers.NormalizedBlock),
    ],
)
def test_a_published_part_passes(kind: str, cls: Any) -> None:
    report = conformance.check_component(kind, cls)
    assert report.passed, report.text()
    assert not report.leaks
