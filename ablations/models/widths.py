"""The feed-forward's width: as given, in proportion to the model's, or by its activation."""

from __future__ import annotations

from fractions import Fraction

from ablations.grids.faults import Conflict
from ablations.models.model import MAX_SIZE, WidthRule
from registry.spec import Choice

DEFAULT_WORDS = "4·d_model, gated 8/3·d_model rounded up to a multiple of 8"


def feed_forward_width(
    width: int | WidthRule | None, d_model: int, activation: Choice
) -> tuple[int, str]:
    """The hidden width, and the rule that it follows in words. Raises: Conflict."""
    if isinstance(width, int):
        return width, "given"
    if width is None:
        if getattr(activation.load(), "gated", False):
            rule = f"8/3·d_model rounded up to a multiple of 8 (gated {activation.name})"
            return _round_up(Fraction(8 * d_model, 3), 8), rule
        return 4 * d_model, f"4·d_model (ungated {activation.name})"
    # The multiple is meant as it is written: 1.1 · 10 is 11, whatever 1.1 is in binary.
    d_ff = _round_up(Fraction(repr(width.multiple_of_d_model)) * d_model, width.round_to)
    if d_ff > MAX_SIZE:
        raise Conflict("d_ff", f"the feed-forward width would be {d_ff}, above {MAX_SIZE}")
    rule = f"{_number(width.multiple_of_d_model)}·d_model"
    if width.round_to > 1:
        rule += f" rounded up to a multiple of {width.round_to}"
    return d_ff, rule


def _round_up(value: Fraction, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
