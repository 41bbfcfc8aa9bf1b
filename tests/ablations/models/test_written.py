"""Components as written, with one option or part set."""

from __future__ import annotations

from ablations.models.written import with_part


def test_an_option_is_set_in_every_form_of_a_value() -> None:
    assert with_part("norm", "rmsnorm", "eps", 1) == {"rmsnorm": {"eps": 1}}
    assert with_part("norm", {"rmsnorm": {"eps": 2, "x": 3}}, "eps", 1) == {
        "rmsnorm": {"eps": 1, "x": 3}
    }
    assert with_part("norm", {"layers": ["a", {"b": {}}]}, "eps", 1) == {
        "layers": [{"a": {"eps": 1}}, {"b": {"eps": 1}}]
    }
    assert with_part("bias", False, "qkv", True) == {
        "qkv": True,
        "out": False,
        "feed_forward": False,
        "head": False,
    }
    assert with_part("dropout", {"residual": 0.5}, "attention", 0.1) == {
        "attention": 0.1,
        "residual": 0.5,
    }
