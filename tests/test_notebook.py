"""docs/notebook.md runs as it is, and lists the figures that there are."""

import re
from pathlib import Path

import pytest

import ablations
from reports import plots

PAGE = (Path(__file__).parents[1] / "docs" / "notebook.md").read_text(encoding="utf-8")
SMALL = Path(__file__).parent / "small.yaml"


@pytest.mark.slow
def test_its_code_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    ablations.run(ablations.load_grid(SMALL), "runs/norm-placement", executor="inline")
    scope: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    for block in blocks:
        exec(block, scope)  # as a reader would type it
    figure = scope["figure"]
    figure.savefig("figure.png")  # type: ignore[attr-defined]
    assert Path("figure.png").stat().st_size > 10_000
    assert len(blocks) == 3
    pyplot.close("all")


def test_its_table_lists_every_public_figure() -> None:
    assert set(re.findall(r"`(\w+_table)\(|`(plot_\w+)`", PAGE)) == {
        (name, "") if name.endswith("_table") else ("", name) for name in plots.__all__
    }
