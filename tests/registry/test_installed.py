"""The small distributions in tests/plugins, installed for real: what each of them costs whom."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path

import pytest

from ablations.printable import line
from tests.installed import PLUGINS, ROOT, Scratch, projects

HOOKS = "register_components, register_executors, register_measures"
LOADED = {
    "batch_mixing": "norm batch_norm",
    "clashing_a": "norm twin",
    "clashing_b": "norm twin",
    "detached_gradient": "norm detached",
    "differential": "attention differential",
    "dyt": "norm dynamic_tanh",
    "executor_plugin": "executor backwards",
    "gated_linear": "attention gated_linear",
    "global_random": "norm noisy",
    "kwargs_constructor": "norm swallowing",
    "leaking_attention": "attention leaking",
    "measure_plugin": "measure weight_size",
    "mixture_of_experts": "feed_forward mixture_of_experts",
    "mup": "initializer mup",
}
FAILED = {
    "empty": "registers nothing",
    "hook_error": "hook 'register_measures' raised RuntimeError: no measure today",
    "import_error": "import failed: ModuleNotFoundError: No module named "
    "'a_module_that_nobody_has'",
    "markup_in_name": "hook 'register_components': the name of a norm is lower_snake (letters a to "
    "z, digits, underscores, a letter first), not '<b>x</b>'",
    "misspelt_hook": "unknown hook 'register_component'; did you mean 'register_components'? "
    f"known: {HOOKS}, run_finished, run_started, trial_finished",
    "other_api": "is made for version 2 of the plugin interface, not 1: install a version of it, "
    "or of ablations, that fits the other",
    "reserved_name": "norm 'layernorm' is built in: choose another name",
    "sys_exit": "import failed: SystemExit: 0",
    "wrong_return": "hook 'register_components' must return a list of ComponentSpec, not "
    "{'mapped': ComponentSpec(name='mapped', target='ablations_wrong_return:Mapped',",
}
REASONS = "; ".join(
    f"ablations-{name.replace('_', '-')}:{name}: {reason}" for name, reason in FAILED.items()
)
SIZES = {"depth": 2, "d_model": 16, "n_heads": 2, "context": 8, "vocab_size": 32}


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A folder to start from that is not the project's."""
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


@pytest.mark.slow
def test_each_is_listed_with_what_it_registers_or_why_not(scratch: Scratch, empty: Path) -> None:
    assert sorted([*LOADED, *FAILED]) == [project.name for project in projects()]
    documents = json.loads(scratch.ablate("plugins", "--json", cwd=empty).stdout)
    names = [document["name"] for document in documents]
    assert names == sorted(names)
    told = {
        name.partition(":")[2]: (document["state"], document["message"], document["components"])
        for name, document in zip(names, documents, strict=True)
        if not name.startswith("ablations:")
    }
    assert told == {
        **{name: ("loaded", "", [entry]) for name, entry in LOADED.items()},
        **{name: ("failed", reason, []) for name, reason in FAILED.items()},
    }
    versions = {document["name"]: document["version"] for document in documents}
    assert versions["ablations-clashing-b:clashing_b"] == "0.2.0"
    assert versions["dyt:dyt"] == "0.1.0"


ASKED = """
import json, sys, ablations

told = {}
for level in json.loads(sys.argv[1]):
    grid = {"name": "x", "factors": {"norm": ["layernorm", level]}, "measures": ["parameters"]}
    try:
        ablations.load_grid(grid)
        told[level] = ""
    except ablations.GridError as error:
        told[level] = str(error)
print(json.dumps(told))
"""

KNOWN = (
    "known: batch_norm, detached, dynamic_tanh, layernorm, noisy, none, rmsnorm, swallowing, twin"
)
WHERE = "factors.norm[1]: "


@pytest.mark.slow
def test_names_that_cannot_be_used_say_why(scratch: Scratch, empty: Path) -> None:
    expected = {
        "dynamic_tanh": "",
        "DYT/dynamic_tanh": "",
        "ablations-clashing-a/twin": "",
        "ablations_clashing.b/twin": "",
        "twin": f"{WHERE}norm 'twin' is registered by several plugins; write "
        "ablations-clashing-a/twin or ablations-clashing-b/twin",
        "swallowed": line(
            f"{WHERE}unknown norm 'swallowed'; did you mean 'swallowing'? {KNOWN}; "
            f"plugins that failed to load: {REASONS}"
        ),
        "ablations-hook-error/swallowed": f"{WHERE}unknown norm 'ablations-hook-error/swallowed': "
        f"its plugin failed to load: ablations-hook-error:hook_error: {FAILED['hook_error']}",
        "swallowing": "factors.norm[1].swallowing: the constructor of "
        "ablations_kwargs_constructor.Swallowing takes **kwargs, so that a misspelt option would "
        "pass unseen: write __init__(self, dims, *, option: type = default)",
    }
    told = json.loads(scratch.python("-c", ASKED, json.dumps([*expected]), cwd=empty).stdout)
    assert told == expected


GRID = {
    "name": "strangers",
    "model": SIZES,
    "factors": {
        "norm": [
            "layernorm",
            "dynamic_tanh",
            "ablations-clashing-a/twin",
            "ablations-clashing-b/twin",
            {"dyt/dynamic_tanh": {"alpha": 1.0}},
        ],
        "attention": ["mha", "leaking"],
    },
    "seeds": 2,
    "measures": ["parameters", {"weight_size": {"power": 2.0}}],
    "requires": ["dyt==0.1.0", "ablations-clashing-b>0.1,<1"],
}


@pytest.mark.slow
def test_those_that_load_run_in_workers_beside_the_built_ins(scratch: Scratch, empty: Path) -> None:
    import ablations

    (empty / "grid.yaml").write_text(json.dumps(GRID))
    run = scratch.ablate("run", "grid.yaml", "--workers", 2, cwd=empty)
    assert "20 trials: 20 done, " in run.stderr
    frames = ablations.open_run(empty / "runs" / "strangers").frames()
    assert set(frames.trials["state"]) == {"done"}
    assert "weight_size.total" in set(frames.metrics["metric"])
    components = {
        name: f"{plugin} {version}"
        for name, plugin, version in frames.components[["name", "plugin", "version"]].to_numpy()
    }
    assert components["ablations-clashing-a/twin"] == "ablations-clashing-a 0.1.0"
    assert components["ablations-clashing-b/twin"] == "ablations-clashing-b 0.2.0"
    assert components["dynamic_tanh"] == "dyt 0.1.0"
    assert components["leaking"] == "ablations-leaking-attention 0.1.0"
    environment = frames.environment.set_index("key")["value"]
    assert environment["plugin ablations-clashing-b:clashing_b"] == "0.2.0"
    assert environment["plugin ablations-sys-exit:sys_exit"] == f"failed: {FAILED['sys_exit']}"
    # The two of one name stand apart wherever the report names a level.
    page = (empty / "runs" / "strangers" / "report.html").read_text(encoding="utf-8")
    assert "ablations-clashing-a/twin" in page
    assert "ablations-clashing-b/twin" in page
    levels = set(frames.factors[frames.factors["factor"] == "norm"]["level"])
    assert levels == {
        "layernorm", "dynamic_tanh", "ablations-clashing-a/twin", "ablations-clashing-b/twin",
        "dyt/dynamic_tanh(alpha=1.0)",
    }  # fmt: skip


@pytest.mark.slow
def test_an_executor_of_a_strangers_carries_a_run_out(scratch: Scratch, empty: Path) -> None:
    code = (
        "import ablations, json, sys\n"
        "from ablations import engine\n"
        "engine.write_report = lambda out: out / 'report.html'\n"
        "grid = json.loads(sys.argv[1])\n"
        "summary = ablations.run(ablations.load_grid(grid), 'run', executor='backwards')\n"
        "print(dict(summary.states))\n"
        "ablations.run(ablations.load_grid(grid), 'run', executor='bakwards')\n"
    )
    grid = {**GRID, "factors": {"norm": ["layernorm", "dynamic_tanh"]}}
    ended = scratch.python("-c", code, json.dumps(grid), cwd=empty, status=1)
    assert ended.stdout == "{'done': 4}\n"
    assert ended.stderr.splitlines()[-1] == (
        "registry.errors.UnknownName: unknown executor 'bakwards'; did you mean 'backwards'? "
        f"known: backwards, inline, local, ray; plugins that failed to load: {REASONS}"
    )


@pytest.mark.slow
def test_versions_that_a_grid_requires(scratch: Scratch, empty: Path) -> None:
    wanted = ["dyt>=1", "ablations-sys-exit", "ablations-clashing_a==0.1.0", "dytt"]
    grid = {**GRID, "requires": wanted}
    (empty / "grid.yaml").write_text(json.dumps(grid, indent=1))
    lines = scratch.ablate("plan", "grid.yaml", cwd=empty, status=2).stderr.splitlines()
    told = [line.partition(": requires")[2] for line in lines]
    assert told[0] == "[0]: needs dyt>=1, but 0.1.0 is installed"
    assert told[1] == (
        "[1]: plugin 'ablations-sys-exit:sys_exit' failed to load: import failed: SystemExit: 0"
    )
    assert told[2].startswith("[3]: plugin 'dytt' is not installed; did you mean 'dyt'? known: ")
    assert len(told) == 3


@pytest.mark.slow
def test_a_selection_leaves_the_others_out(scratch: Scratch, empty: Path) -> None:
    def plugins(**environment: str) -> tuple[list[str], list[str]]:
        told = scratch.ablate("plugins", "--json", cwd=empty, **environment)
        names = [document["name"] for document in json.loads(told.stdout)]
        left = told.stderr.splitlines()
        return [name for name in names if not name.startswith("ablations:")], left

    names, left = plugins(ABLATIONS_PLUGINS="dyt,ablations-clashing-a")
    assert names == ["ablations-clashing-a:clashing_a", "dyt:dyt"]
    assert len(left) == len(LOADED) + len(FAILED) - 2
    assert (
        "ablations-sys-exit:sys_exit 0.1.0: left out by "
        "ABLATIONS_PLUGINS=dyt,ablations-clashing-a" in left
    )
    names, left = plugins(ABLATIONS_NO_PLUGINS="1")
    assert (names, len(left)) == ([], len(LOADED) + len(FAILED))


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
