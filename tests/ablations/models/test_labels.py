"""Values as a person reads them."""

from __future__ import annotations

import pytest

from ablations.models.labels import label


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("norm", "rmsnorm", "rmsnorm"),
        ("norm", {"rmsnorm": {}}, "rmsnorm"),
        ("attention", {"gqa": {"n_kv_heads": 2, "scale": None}}, "gqa(n_kv_heads=2, scale=null)"),
        ("norm", {"layers": ["a", {"b": {"eps": 1e-5}}]}, "layers(a, b(eps=1e-05))"),
        ("embedding_norm", None, "null"),
        ("bias", True, "true"),
        ("bias", {"qkv": False, "head": True}, "head=true, qkv=false"),
        (
            "d_ff",
            {"multiple_of_d_model": 3.5, "round_to": 8},
            "multiple_of_d_model=3.5, round_to=8",
        ),
        ("d_ff", {"layers": [8, {"multiple_of_d_model": 2}]}, "layers(8, multiple_of_d_model=2)"),
        ("depth", 12, "12"),
        ("", 0.001, "0.001"),
        ("", "none", "none"),
        ("", "1", '"1"'),
        ("", "true", '"true"'),
        ("", "a, b=c", '"a, b=c"'),
        ("", "a\nb", '"a\\nb"'),
        ("", [1, "x"], "[1, x]"),
        ("", {"a": {"b": 1}}, "a={b=1}"),
        ("", {}, "{}"),
        ("", [], "[]"),
        ("", "", '""'),
    ],
)
def test_labels(key: str, value: object, expected: str) -> None:
    assert label(key, value) == expected
