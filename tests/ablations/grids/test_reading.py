"""What the steps of reading a grid share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ablations.loading import HEAD, NORMS, refused


@pytest.mark.parametrize("norm", ["eps", "{eps: {}}"])
def test_an_unknown_component_is_told_though_a_factor_has_its_name(
    tmp_path: Path, norm: str
) -> None:
    text = f"{HEAD}model: {{norm: {norm}}}\nfactors: {{norm.eps: [1, 2]}}\n"
    (line,) = refused(tmp_path, text)
    assert line.endswith(f": model.norm.eps: unknown norm 'eps'; {NORMS}")
