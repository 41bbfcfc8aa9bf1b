"""Where an effect holds, in words that are no stronger than the data."""

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports import Frames, state_findings
from reports.where import NOWHERE, where
from tests.reports.simulated import twelve_cells


def rows(*levels: tuple[Any, ...], scale: str = "log") -> pd.DataFrame:
    """Levels as (name, estimate, low, high, within_noise), the figures of an exact one alone."""
    table = pd.DataFrame(levels, columns=["level_2", "estimate", "low", "high", "within_noise"])
    return table.assign(
        factor_2="placement",
        scale=scale,
        exact=False,
        unchanged=(table["low"] == table["high"]) & (table["within_noise"] == True),  # noqa: E712
        within_noise=table["within_noise"].astype("boolean"),
    )


POST = ("post", 1.4, 1.31, 1.49, False)
PRE = ("pre", 1.0, 0.99, 1.01, True)
NONE = (math.nan, math.nan, math.nan, pd.NA)


def told(*levels: tuple[Any, ...], scale: str = "log", unit: str = "") -> str:
    text = where(rows(*levels, scale=scale), unit)
    return text.replace("\u00a0", " ").replace("\u2212", "-")


def test_shown_at_one_level_only() -> None:
    assert told(PRE, POST) == (
        "shown only with placement = post (1.40 times, 1.31 to 1.49 times); not shown with pre "
        "(-1.00 % to +1.00 %)"
    )


def test_it_is_not_only_there_where_elsewhere_it_may_be_as_large() -> None:
    wide = ("pre", 1.1, 0.8, 1.5, True)
    assert told(wide, POST) == (
        "shown with placement = post (1.40 times, 1.31 to 1.49 times); not shown with pre "
        "(0.800 to 1.50 times)"
    )


def test_shown_at_every_level_the_largest_first() -> None:
    small, large = ("pre", 0.9, 0.85, 0.95, False), ("post", 0.4, 0.3, 0.5, False)
    assert told(small, large) == (
        "shown with placement = post (0.400 times, 0.300 to 0.500 times) and pre (-10.0 %, "
        "-15.0 % to -5.00 %)"
    )


def test_it_is_not_only_where_some_level_is_not_judged() -> None:
    assert told(PRE, POST, ("sandwich", *NONE)) == (
        "shown with placement = post (1.40 times, 1.31 to 1.49 times); not shown with pre "
        "(-1.00 % to +1.00 %); not judged with sandwich"
    )


def test_shown_nowhere_is_not_called_no_effect() -> None:
    assert told(PRE, ("post", 1.02, 0.98, 1.06, True)) == NOWHERE == "at no single one shown"


def test_what_never_changes_is_unchanged() -> None:
    assert told(("pre", 1.0, 1.0, 1.0, True), POST) == (
        "shown only with placement = post (1.40 times, 1.31 to 1.49 times); unchanged with pre"
    )


def test_nothing_judged() -> None:
    assert told(("pre", *NONE), ("post", *NONE)) == "not judged with placement = pre and post"


def test_differences_have_their_unit() -> None:
    text = told(
        ("pre", 0.3, -0.1, 0.7, True), ("post", -3.0, -4.0, -2.0, False), scale="linear",
        unit="nats",
    )  # fmt: skip
    assert text == (
        "shown only with placement = post (-3 nats, -4 to -2); not shown with pre "
        "(-0.100 to +0.700 nats)"
    )


@pytest.mark.parametrize(("n_shown", "n_noise"), [(3, 9), (6, 3), (7, 0)])
def test_four_levels_are_named_and_the_rest_is_counted(n_shown: int, n_noise: int) -> None:
    shown = [(f"s{i}", 2.0 + i, 1.5 + i, 2.5 + i, False) for i in range(n_shown)]
    noise = [(f"n{i}", 1.0, 0.9, 1.1, True) for i in range(n_noise)]
    text = told(*shown, *noise)
    assert text.count("(") == 4
    expected = {
        (3, 9): "; not shown with n0 (-10.0 % to +10.0 %) and 8 more",
        (6, 3): " and 2 more; not shown with 3 levels",
        (7, 0): "s3 (5 times, 4.50 to 5.50 times) and 3 more",
    }[n_shown, n_noise]
    assert text.endswith(expected)
    assert text.startswith("shown")
    assert np.array(["only" in text]) == (n_shown > 0 and n_noise > 0)


def texts(frames: Frames, kind: str) -> list[str]:
    found = [finding.text for finding in state_findings(frames) if finding.kind == kind]
    return [text.replace("\u00a0", " ").replace("\u2212", "-") for text in found]


def test_an_effect_that_holds_in_one_place_says_where() -> None:
    flow = np.zeros((2, 2, 3))
    flow[1, 1] = np.log(1.4)
    (text,) = texts(twelve_cells(flow), "most")
    assert re.search(
        r"norm = b instead of a makes it 1\.19 times as large on average, but it depends on "
        r"placement: shown only with placement = post \(1\.4\d times, 1\.\d\d to 1\.[45]\d "
        r"times\); not shown with pre \(-\d\.\d+ % to \+\d\.\d+ %\) \(95 % intervals by placement, "
        r"adjusted for all that was looked at; 6 pairs, 5 seeds; same direction in 83\.3 % of "
        r"the pairs\)\.",
        text,
    )
    assert not re.search("no effect|has no", " ".join(texts(twelve_cells(flow), "effect")))


def test_an_effect_of_different_sizes_gives_each() -> None:
    flow = np.zeros((2, 2, 3))
    flow[1] = np.log([1.2, 1.5, 2.0])
    (text,) = texts(twelve_cells(flow), "most")
    assert re.search(
        r"but it depends on act: shown with act = swiglu \(2\.0\d times, [^)]*\), silu "
        r"\(1\.\d\d times, [^)]*\) and gelu \((1\.2\d times|\+19\.\d %), [^)]*\) \(95 % intervals "
        r"by act",
        text,
    )
