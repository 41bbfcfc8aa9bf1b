"""Every recipe assembled without memory, its counts those that were published."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from ablations.measures.parameters import Parameters
from ablations.models.resolution import resolve
from ablations.recipes.counting import ROLES, count_recipe
from ablations.recipes.recipe import read_recipe, recipe_names
from ablations.trial import Trial, TrialContext
from registry import discover

CATALOG = discover()


def counts(name: str, **changes: Any) -> dict[str, int]:
    """What `parameters` counts in a recipe, some of its values changed."""
    architecture = resolve({**read_recipe(name).model, **changes}, CATALOG)
    trial = Trial(cell="", seed=0, architecture=architecture, measures=())
    metrics = Parameters().measure(TrialContext(trial)).metrics
    return {key: int(value) for key, value in metrics.items()}


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_has_the_parameters_of_its_model(name: str) -> None:
    counted = count_recipe(read_recipe(name), CATALOG)
    assert counted.differing == {}
    assert counted.total == sum(counted.roles[role] for role in ROLES)
    assert counted.document["equal"] is True


def test_gpt2_to_the_parameter() -> None:
    gpt2 = counts("gpt2")
    assert gpt2["total"] == 124_439_808
    assert gpt2["per_block"] == 7_087_872
    assert gpt2["non_embedding"] == 85_056_000
    assert counts("pythia-160m")["non_embedding"] == 85_056_000


def test_no_bias_has_four_meanings() -> None:
    """Those of the linear maps, apart and together, and those of the 25 norms."""
    whole = counts("gpt2")["total"]
    parts = {"qkv": 12 * 3 * 768, "out": 12 * 768, "feed_forward": 12 * (4 * 768 + 768)}
    for part, biases in parts.items():
        assert whole - counts("gpt2", bias={part: False})["total"] == biases
    assert whole - counts("gpt2", bias=False)["total"] == sum(parts.values()) == 82_944
    norms = counts("gpt2", norm={"layernorm": {"bias": False}})
    assert whole - norms["total"] == 25 * 768 == 19_200


def test_a_gate_at_the_same_hidden_width_adds_half_of_the_feed_forward() -> None:
    plain = counts("gpt2", bias=False)["feed_forward"]
    gated = counts("gpt2", bias=False, activation="swiglu")["feed_forward"]
    assert gated == 1.5 * plain
    level = counts("gpt2", bias=False, activation="swiglu", d_ff=2048)  # two thirds of 3072
    assert level["feed_forward"] == plain


def test_other_totals_that_are_told_count_something_else_too() -> None:
    """A tied head a second time; causal masks, which are buffers."""
    assert counts("qwen3-0.6b", tie_embeddings=False)["total"] == 751_632_384
    assert counts("gpt2")["total"] + 12 * 1024**2 == 137_022_720


def test_a_model_of_70_billion_takes_no_memory() -> None:
    code = (
        "import resource\n"
        "from ablations.recipes.counting import count_recipe\n"
        "from ablations.recipes.recipe import read_recipe\n"
        "from registry import discover\n"
        "assert count_recipe(read_recipe('llama-3-70b'), discover()).total == 70_553_706_496\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(ended.stdout) * unit < 2 * 2**30


@pytest.mark.slow
def test_all_recipes_are_counted_in_seconds() -> None:
    code = (
        "import contextlib, io, time\n"
        "from ablations.cli import run_command_line\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    assert run_command_line(['recipes', '--json']) == 0\n"
        "print(time.process_time())\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(ended.stdout) < 20
