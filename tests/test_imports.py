"""Imports: the directions between the packages, and what an import must not load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "registry": set(),
    "components": {"registry"},
    "ablations": {"registry", "reports"},
    "reports": set(),
}


def imported_packages(source: str) -> set[str]:
    """Top-level names that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that directions can be read"
            found.add((node.module or "").partition(".")[0])
    return found


def test_the_walk_sees_every_way_to_import():
    source = "import a.b\ndef f():\n    from c.d import e\n    if f: import g, h as i\n"
    assert imported_packages(source) == {"a", "c", "g", "h"}


@pytest.mark.parametrize("package", ALLOWED)
def test_packages_import_only_in_the_agreed_directions(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files, f"no files found below {ROOT / package}"
    for file in files:
        ours = imported_packages(file.read_text(encoding="utf-8")) & set(ALLOWED)
        assert ours <= ALLOWED[package] | {package}, f"{file} imports {ours}"


def loaded_after(code: str, *modules: str) -> list[str]:
    """Which of the modules a fresh interpreter has loaded after running some code."""
    script = f"{code}\nimport sys\nprint([m for m in {modules!r} if m in sys.modules])"
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    return ast.literal_eval(printed.splitlines()[-1])


def test_the_probe_sees_a_loaded_module():
    assert loaded_after("import torch", "torch", "pandas") == ["torch"]


@pytest.mark.parametrize("package", ["registry", "components", "ablations", "reports"])
def test_importing_a_package_loads_no_heavy_library(package):
    assert loaded_after(f"import {package}", "torch", "pandas", "matplotlib", "numpy") == []


def test_discovery_and_listing_names_load_no_torch():
    unwanted = ("torch", "pandas", "mlflow", "sqlalchemy")
    assert loaded_after("import registry; registry.discover()", *unwanted) == []


def test_help_loads_neither_torch_nor_pandas_nor_rich():
    code = "from ablations.cli import run_command_line; run_command_line(['--help'])"
    assert loaded_after(code, "torch", "pandas", "rich", "pydantic") == []


def test_without_components_the_other_three_import(tmp_path):
    for package in ("registry", "ablations", "reports"):
        (tmp_path / package).symlink_to(ROOT / package)
    code = (
        f"import sys; sys.path[:] = [{str(tmp_path)!r}] + "
        f"[p for p in sys.path if p and p != {str(ROOT)!r}]\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f).lower()]\n"
        "import importlib.util, ablations, registry, reports\n"
        "import ablations.engine, ablations.measures.gradient_flow, reports.page\n"
        "assert importlib.util.find_spec('components') is None\n"
        f"assert ablations.__file__.startswith({str(tmp_path)!r})\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
