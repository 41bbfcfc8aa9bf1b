"""Discovery of the small distributions in tests/plugins, installed for real."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "tests" / "plugins"

INSTALLED = """
import json, sys
from registry import UnknownName, discover

catalog = discover()
tanh = catalog.choose(catalog.component("norm", "dynamic_tanh"), {"alpha": 1})
try:
    catalog.component("norm", "swallowed")
except UnknownName as error:
    message = str(error)
print(json.dumps({
    "plugins": [[r.name, r.version, r.state, r.message] for r in catalog.plugins],
    "provenance": str(catalog.component("norm", "dyt/dynamic_tanh").provenance),
    "label": tanh.label,
    "loads": tanh.load().__name__,
    "message": message,
}))
"""


@pytest.mark.slow
def test_installed_distributions_are_found_and_broken_ones_told(tmp_path: Path) -> None:
    sources = [str(PLUGINS / name) for name in ("dyt", "hook_error", "import_error")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index", "--no-build-isolation", "--target", str(tmp_path)]
    subprocess.run([*pip, *offline, *sources], check=True)
    path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    printed = subprocess.run(
        [sys.executable, "-c", f"{path}\n{INSTALLED}"], check=True, capture_output=True, text=True
    )
    told = json.loads(printed.stdout)
    hook = "hook 'register_measures' raised RuntimeError: no measure today"
    lacking = "import failed: ModuleNotFoundError: No module named 'a_module_that_nobody_has'"
    strangers = [record for record in told["plugins"] if not record[0].startswith("ablations:")]
    assert strangers == [
        ["ablations-hook-error:hook_error", "0.2.0", "failed", hook],
        ["ablations-import-error:import_error", "0.2.0", "failed", lacking],
        ["dyt:dyt", "0.1.0", "loaded", ""],
    ]
    assert told["provenance"] == "dyt 0.1.0"
    assert told["label"] == "dynamic_tanh(alpha=1.0)"
    assert told["loads"] == "DynamicTanh"
    assert told["message"].startswith("unknown norm 'swallowed'; known: dynamic_tanh, ")
    assert told["message"].endswith(
        f"; plugins that failed to load: ablations-hook-error:hook_error: {hook}; "
        f"ablations-import-error:import_error: {lacking}"
    )


def block_of_the_readme(language: str, first: str) -> str:
    """The code block of README.md in that language which starts with that line."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _, _, after = text.partition(f"```{language}\n{first}")
    assert after, f"README.md has no {language} block that starts with {first!r}"
    return first + after.partition("```")[0]


def test_the_plugin_that_loads_is_the_one_of_the_readme() -> None:
    code = (PLUGINS / "dyt" / "dyt.py").read_text(encoding="utf-8")
    shown = block_of_the_readme("python", "# dyt.py")
    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(shown))
    project = (PLUGINS / "dyt" / "pyproject.toml").read_text(encoding="utf-8")
    shown = block_of_the_readme("toml", "# pyproject.toml")
    assert tomllib.loads(project) == tomllib.loads(shown)
