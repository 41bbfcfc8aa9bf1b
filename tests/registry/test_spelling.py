from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Optional

import pytest
from annotated_types import Ge, Gt, Interval, Le, Len, MultipleOf
from pydantic import Field

from registry.spelling import spell


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "int"),
        (float, "number"),
        (bool, "true or false"),
        (str, "text"),
        (type(None), "null"),
        (Any, "anything"),
        (list, "list"),
        (list[int], "list of int"),
        (Sequence[list[float]], "list of list of number"),
        (tuple[int, ...], "list of int"),
        (tuple[int, str], "list of 2: int, text"),
        (tuple[()], "empty list"),
        (dict[str, float], "mapping of text to number"),
        (Mapping[str, bool], "mapping of text to true or false"),
        (Literal["none"], "none"),
        (Literal["a", None, True, 2], "one of a, null, true, 2"),
        (int | None, "int or null"),
        (Optional[str], "text or null"),  # noqa: UP045 - the older spelling is read too
        (Annotated[int, Gt(0)], "int > 0"),
        (Annotated[float, Ge(0), Le(1)], "number ≥ 0 and ≤ 1"),
        (Annotated[int, Interval(gt=0, lt=5)], "int > 0 and < 5"),
        (Annotated[int, Field(gt=0)], "int > 0"),
        (Annotated[int, MultipleOf(8)], "int a multiple of 8"),
        (Annotated[list[int], Len(1, 4)], "list of int at least 1 long and at most 4 long"),
        (Annotated[int, "a remark"], "int"),
        (Annotated[float, Gt(0)] | Literal["none"] | None, "number > 0 or none or null"),
        (Exception, "Exception"),
    ],
)
def test_types_are_spelled_for_people(annotation: Any, words: str) -> None:
    assert spell(annotation) == words
