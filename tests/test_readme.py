"""What README.md shows is what there is."""

import ast
import re
from pathlib import Path

from ruamel.yaml import YAML

import ablations
from ablations.recipes.recipe import recipe_names
from registry import discover
from tests.readme import current

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_its_tables_are_current():
    assert current(README, discover()) == README


def test_its_grid_is_the_default_grid(tmp_path):
    shown = tmp_path / "grid.yaml"
    shown.write_text(blocks("yaml")[0], encoding="utf-8")
    ours, theirs = ablations.load_grid(shown), ablations.load_grid(ROOT / "grid.yaml")
    for name in ("name", "model", "factors", "baseline", "seeds"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert [m.choice for m in ours.measures] == [m.choice for m in theirs.measures]
    planned = ablations.plan(ours)
    assert (len(planned.cells), planned.trials) == (72, 360)


def test_its_grid_of_a_recipe_changes_one_part_at_a_time(tmp_path):
    (block,) = [block for block in blocks("yaml") if "\nrecipe: " in block]
    shown = tmp_path / "grid.yaml"
    shown.write_text(block, encoding="utf-8")
    planned = ablations.plan(ablations.load_grid(shown))
    assert len(planned.cells) == len(planned.running) == 1 + 1 + 1 + 2 + 2
    baseline = planned.cells[0].cell
    assert baseline.label == "norm=rmsnorm activation=swiglu attention.n_kv_heads=2 placement=pre"
    assert (baseline.architecture.n_heads, baseline.architecture.layers[0].d_ff) == (8, 896)


def test_it_says_how_many_recipes_there_are():
    assert f"{len(recipe_names())} in all" in README


def test_the_measures_that_it_shows_can_be_asked_for():
    (block,) = [block for block in blocks("yaml") if block.startswith("measures:")]
    shown = YAML(typ="safe").load(block)
    grid = ablations.load_grid(
        {"name": "a", "factors": {"norm": ["layernorm", "rmsnorm"]}, **shown}
    )
    assert ablations.plan(grid).trials == 2 * 2 * 3
    _, flow, *_ = grid.measures
    assert {name: flow.choice.options[name] for name in flow.choice.given} == {
        option.name: option.default
        for option in discover().options(flow.spec)
        if option.name in flow.choice.given
    }


def test_its_commands_are_shell_lines_that_ci_finds():
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    assert commands == [
        "python -m pip install -c constraints.txt . && python -m ablations run grid.yaml",
        "python -m pip install -c constraints.txt -e '.[test]' && python -m pytest",
    ]


def test_its_python_uses_public_names():
    block = next(block for block in blocks("python") if "load_grid" in block)
    used = {
        node.attr
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "ablations"
    }
    assert used == {"load_grid", "plan", "run", "open_run", "build"}
    assert used <= set(ablations.__all__)
    build = next(line for line in block.splitlines() if "build(" in line)
    scope = {"ablations": ablations}
    exec(build, scope)  # the line as a reader would type it
    assert scope["decoder"].architecture.depth == 2


def test_its_figures_are_there():
    for path in re.findall(r"\]\((docs/[^)]+)\)", README):
        least = 10_000 if path.endswith(".png") else 1_000
        assert (ROOT / path).stat().st_size > least
