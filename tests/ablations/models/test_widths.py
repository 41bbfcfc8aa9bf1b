"""Feed-forward widths, and the rules that they follow in words."""

from __future__ import annotations

from typing import Any

import pytest

from ablations.models.resolution import resolve
from tests.ablations.dummies import parts


@pytest.mark.parametrize(
    ("model", "width", "rule"),
    [
        ({"activation": "gelu"}, 1024, "4·d_model (ungated gelu)"),
        (
            {"activation": "swiglu"},
            688,
            "8/3·d_model rounded up to a multiple of 8 (gated swiglu)",
        ),
        (
            {"activation": "swiglu", "d_model": 768},
            2048,
            "8/3·d_model rounded up to a multiple of 8 (gated swiglu)",
        ),
        ({"d_ff": {"multiple_of_d_model": 3.5}}, 896, "3.5·d_model"),
        (
            {"d_ff": {"multiple_of_d_model": 2.6, "round_to": 64}},
            704,
            "2.6·d_model rounded up to a multiple of 64",
        ),
        ({"d_ff": {"multiple_of_d_model": 1.1}, "d_model": 20, "n_heads": 1}, 22, "1.1·d_model"),
    ],
)
def test_the_width_of_the_feed_forward(model: dict[str, Any], width: int, rule: str) -> None:
    architecture = resolve(model, parts())
    assert (architecture.layers[0].d_ff, architecture.d_ff_rule) == (width, rule)
