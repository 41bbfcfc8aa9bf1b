"""The components of docs/write-a-component.md, as a reader would copy them."""

import ast
import importlib
import math
import re
import sys
from pathlib import Path

import pytest

import ablations
from ablations import engine
from registry import Kind, conformance, discover
from tests.installed import PLUGINS, ROOT

PAGE = (ROOT / "docs" / "write-a-component.md").read_text(encoding="utf-8")
FOUND = re.findall(r"```python\n(# (\w+)\.py.*?)```", PAGE, re.DOTALL)
BLOCKS = {name: text for text, name in FOUND}
TEST = BLOCKS.pop("test_conformance")
SIZES = {"depth": 2, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 32}
GRIDS = {
    "of_tokens": {
        "norm": ["layernorm", "dynamic_tanh"],
        "activation": ["gelu", "bilinear"],
        "feed_forward": ["mlp", "mixture_of_experts"],
        "initializer": ["normal", "mup"],
    },
    "of_blocks": {
        "attention": ["mha", "gated_linear", "differential"],
        "position": ["learned", "interpolated"],
        "residual": ["add", "depth_scaled"],
        "placement": ["pre", "macaron"],
    },
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The files of the page; one folder for all tests, since Python imports a module once."""
    home = tmp_path_factory.mktemp("writing")
    for name, text in BLOCKS.items():
        (home / f"{name}.py").write_text(text, encoding="utf-8")
    # Other tests' plugins have some of these names, and are imported for as long as those run.
    path = list(sys.path)
    others = {name: sys.modules.pop(name) for name in BLOCKS if name in sys.modules}
    sys.path[:] = [
        entry for entry in path if not any(Path(entry, f"{name}.py").exists() for name in BLOCKS)
    ]
    importlib.invalidate_caches()
    yield home
    sys.path[:] = path
    for name in BLOCKS:
        sys.modules.pop(name, None)
    sys.modules.update(others)


def registered(home, name):
    catalog = discover(plugins=[str(home / f"{name}.py")])
    (record,) = (record for record in catalog.plugins if record.asked)
    assert record.state == "loaded", record.message
    (spec,) = record.specs
    return spec


def test_each_block_is_python_and_every_kind_has_one(home):
    assert PAGE.count("```python") == len(BLOCKS) + 1
    kinds = [registered(home, name).kind for name in BLOCKS]
    assert sorted(set(kinds)) == sorted(Kind)
    assert len(kinds) == len(Kind) + 1  # two attentions


@pytest.mark.parametrize("name", BLOCKS)
def test_it_passes_its_checks(home, name):
    for report in conformance.check_spec(registered(home, name)):
        assert report.passed, report.text()
        assert not report.leaks


@pytest.mark.slow
@pytest.mark.parametrize("name", GRIDS)
def test_it_runs_beside_the_built_ins(home, name, tmp_path, monkeypatch):
    # A page takes longer than the trials; tests/test_published_parts.py looks at one.
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")
    factors = GRIDS[name]
    grid = ablations.load_grid(
        {
            "name": name,
            "model": SIZES,
            "plugins": [str(home / f"{module}.py") for module in BLOCKS],
            "factors": factors,
            "measures": ["parameters", "gradient_flow"],
        }
    )
    ablations.run(grid, tmp_path / "run", executor="inline")
    frames = ablations.open_run(tmp_path / "run").frames()
    # Positions that rotate are not for an attention without queries and keys to be rotated.
    skipped = {"of_tokens": 0, "of_blocks": 4}[name]
    states = frames.trials.drop_duplicates(["cell", "state"])["state"].tolist()
    assert states.count("skipped") == skipped
    assert states.count("done") + skipped == math.prod(map(len, factors.values())) == len(states)
    assert set(frames.trials["marks"]) == {""}
    conformance = frames.components.set_index("name")["conformance"]
    for level in (level for levels in factors.values() for level in levels):
        assert re.fullmatch(r"passed \d+ checks", conformance[level]), level


def test_its_test_runs_the_checks(home):
    registered(home, "dyt")
    scope = {}
    exec(TEST, scope)
    (mark,) = scope["test_conformance"].pytestmark
    cases = {case.id: case.values[0] for case in mark.args[1]}
    assert len(cases) > conformance.report.MINIMUM[Kind.NORM]
    scope["test_conformance"](cases["shape"])


@pytest.mark.parametrize(
    "name", ["dyt", "gated_linear", "differential", "mixture_of_experts", "mup"]
)
def test_the_published_ones_are_the_installed_ones(name):
    code = (PLUGINS / name / f"{name}.py").read_text(encoding="utf-8")
    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(BLOCKS[name]))


def test_its_commands_are_commands():
    told = set(re.findall(r"^ablations (\w+)", PAGE, re.MULTILINE))
    assert told == {"new", "check", "run"}
    assert Path(ROOT / "docs" / "extend.md").is_file()
