"""How a run and a grid look in a notebook."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

import ablations
from ablations.notebook import MAX_LEVELS, run_html
from ablations.storage.overview import Overview
from ablations.store import Store, StoreError
from tests.ablations.stores import result


class Table(HTMLParser):
    """The rows of a table: texts by the text of their first cell; fails where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        self._open.append(tag)
        if tag in ("tr", "caption"):
            self.rows.append([])

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.rows[-1].append(data)


PLAIN = {"table", "caption", "tbody", "tr", "th", "td"}


def test_a_grid_in_a_line_and_as_a_table() -> None:
    grid = ablations.load_grid(
        {
            "name": "g",
            "factors": {"norm": ["layernorm", "rmsnorm"], "placement": ["pre", "post"]},
            "seeds": 2,
            "measures": ["parameters"],
        }
    )
    assert repr(grid) == "<Grid 'g': 4 cells of 2 factors (norm, placement), 2 seeds>"
    table = Table(grid._repr_html_())
    assert table.tags == PLAIN
    assert table.rows == [
        ["g"],
        ["design", "full, 4 cells"],
        ["seeds", "0, 1"],
        ["measures", "parameters"],
        ["norm", "layernorm (baseline), rmsnorm"],
        ["placement", "pre (baseline), post"],
    ]


def test_a_design_with_exclusions_says_that_cells_are_counted_before_them() -> None:
    grid = ablations.load_grid(
        {
            "name": "g",
            "design": "one_at_a_time",
            "factors": {"norm": ["layernorm", "rmsnorm"], "placement": ["pre", "post"]},
            "exclude": [{"norm": "rmsnorm", "because": "odd"}],
            "seeds": 1,
            "measures": ["parameters"],
        }
    )
    assert repr(grid) == (
        "<Grid 'g': 3 cells before exclusions of 2 factors (norm, placement), 1 seed>"
    )


def test_a_run_says_how_far_it_got_and_where_its_report_is(store: Store) -> None:
    store.record(result("a", 7))
    run = ablations.open_run(store.directory)
    assert repr(run) == f"Run({str(store.directory)!r})"
    rows = Table(run._repr_html_()).rows
    assert rows == [
        ["norms"],
        ["trials", "6: 1 done, 3 missing, 2 skipped"],
        ["cells", "3"],
        ["seeds", "7, 3"],
        ["measures", "flow"],
        ["report", f"not written yet: ablations report {store.directory}"],
        ["norm", "layernorm, rmsnorm, none"],
    ]
    (store.directory / "report.html").touch()
    assert ["report", f"{store.directory}/report.html"] in Table(run._repr_html_()).rows


def test_a_run_that_is_gone(store: Store, tmp_path: Path) -> None:
    run = ablations.open_run(store.directory)
    store.path.unlink()
    with pytest.raises(StoreError, match=r"holds no run: there is no results\.sqlite$"):
        run._repr_html_()


def test_names_are_escaped_shortened_and_counted() -> None:
    levels = ("<script>alert(1)</script>", "a\u202eb", *(f"l{n}" for n in range(20)), "x" * 500)
    overview = Overview(
        name="</table><b>",
        factors={f"f{n}<i>": levels for n in range(30)},
        n_cells=1,
        seeds=tuple(range(100)),
        measures=("m",),
        states={},
    )
    html = run_html(overview, Path("a<b"))
    table = Table(html)
    assert table.tags == PLAIN
    assert table.rows[0] == ["</table><b>"]
    assert table.rows[1] == ["trials", "0: none"]
    (first,) = [row for row in table.rows if row[0] == "f0<i>"]
    assert first[1].startswith("<script>alert(1)</script>, a\\u202eb, l0, ")
    assert first[1].endswith(f", … {len(levels) - MAX_LEVELS} more")
    assert table.rows[-1] == ["…", "18 more factors"]
    assert len(html) < 10_000


def test_a_recipe_is_told() -> None:
    grid = ablations.load_grid(
        {
            "name": "g",
            "recipe": "gpt2",
            "factors": {"norm": ["layernorm", "rmsnorm"]},
            "seeds": 1,
            "measures": ["parameters"],
        }
    )
    assert ["recipe", "gpt2"] in Table(grid._repr_html_()).rows
