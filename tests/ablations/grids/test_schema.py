"""Types and defaults of a grid file, and its faults in whole messages."""

from typing import Any

import pytest

from ablations.grids.document import Fault
from ablations.grids.schema import GridFile, file_faults, json_schema, model_faults
from ablations.models.model import Model

MODEL_KEYS = ", ".join(sorted(Model.model_fields))
WIDTH = "{multiple_of_d_model: number, round_to: integer}"
PLUGIN = "a module's name, or the path of a .py file or of a package's folder"
NAME = (
    "1 to 100 letters, digits, '-', '_' or '.', starting with neither '-' nor '.', not ending in "
    "'.', and no name of a device on Windows"
)
SIZE = "an integer from 1 to 2147483647"


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        ({"depth": 0}, [("depth", "expected an integer from 1 to 4096, not 0")]),
        ({"d_model": -256}, [("d_model", f"expected {SIZE}, not -256")]),
        ({"n_heads": True}, [("n_heads", f"expected {SIZE}, not true")]),
        ({"context": 64.0}, [("context", f"expected {SIZE}, not 64.0")]),
        ({"vocab_size": "256"}, [("vocab_size", f"expected {SIZE}, not '256'")]),
        ({"head_dim": 0}, [("head_dim", f"expected {SIZE} or null, not 0")]),
        (
            {"share_layers": None},
            [("share_layers", "expected an integer from 1 to 4096, not null")],
        ),
        (
            {"d_ff": []},
            [
                (
                    "d_ff",
                    f"expected {SIZE}, {WIDTH}, {{layers: [widths]}} or null, not an empty list",
                )
            ],
        ),
        (
            {"d_ff": {"multiple_of_d_modl": 4}},
            [
                ("d_ff", "missing key 'multiple_of_d_model': hidden width over d_model"),
                (
                    "d_ff.multiple_of_d_modl",
                    "unknown key; did you mean 'multiple_of_d_model'? "
                    "known: layers, multiple_of_d_model, round_to",
                ),
            ],
        ),
        (
            {"d_ff": {"multiple_of_d_model": 0}},
            [("d_ff.multiple_of_d_model", "expected a number > 0, at most 1000000, not 0")],
        ),
        (
            {"d_ff": {"layers": [8, "x", {"round_to": True, "multiple_of_d_model": 1}]}},
            [
                ("d_ff.layers.1", f"expected {SIZE} or {WIDTH}, not 'x'"),
                ("d_ff.layers.2.round_to", f"expected {SIZE}, not true"),
            ],
        ),
        (
            {"d_ff": {"layers": [{"x": 1, "multiple_of_d_model": 1}]}},
            [("d_ff.layers.0.x", "unknown key; known: multiple_of_d_model, round_to")],
        ),
        (
            {"d_ff": {"layers": []}},
            [("d_ff.layers", "expected a list of at least one width, not an empty list")],
        ),
        (
            {"bias": 1},
            [
                (
                    "bias",
                    "expected true, false or {qkv, out, feed_forward, head: true or false}, not 1",
                )
            ],
        ),
        ({"bias": {"qkv": 0}}, [("bias.qkv", "expected true or false, not 0")]),
        (
            {"bias": {"qvk": True}},
            [("bias.qvk", "unknown key; did you mean 'qkv'? known: feed_forward, head, out, qkv")],
        ),
        (
            {"dropout": True},
            [
                (
                    "dropout",
                    "expected a number from 0 to 1 or {attention, residual: a number from 0 to 1}, "
                    "not true",
                )
            ],
        ),
        (
            {"dropout": {"attention": 1.5}},
            [("dropout.attention", "expected a number from 0 to 1, not 1.5")],
        ),
        ({"final_norm": 1}, [("final_norm", "expected auto, true or false, not 1")]),
        (
            {"embedding_scale": float("nan")},
            [
                (
                    "embedding_scale",
                    "expected a number > 0, at most 1000000, or sqrt_d_model, not nan",
                )
            ],
        ),
        (
            {"embedding_scale": "sqrt", "embedding_dim": 0, "logit_scale": 0, "logit_softcap": -1},
            [
                (
                    "embedding_scale",
                    "expected a number > 0, at most 1000000, or sqrt_d_model, not 'sqrt'",
                ),
                ("embedding_dim", f"expected {SIZE} or null, not 0"),
                ("logit_scale", "expected a number > 0, at most 1000000, not 0"),
                ("logit_softcap", "expected a number > 0, at most 1000000, or null, not -1"),
            ],
        ),
        ({"tie_embeddings": "yes"}, [("tie_embeddings", "expected true or false, not 'yes'")]),
        ({"nrom": "rmsnorm"}, [("nrom", f"unknown key; did you mean 'norm'? known: {MODEL_KEYS}")]),
    ],
)
def test_faults_of_a_model(value: dict[str, Any], faults: list[tuple[str, str]]) -> None:
    found = [(".".join(map(str, fault.path)), fault.message) for fault in model_faults(value)]
    assert found == faults


def test_every_fault_of_a_file_is_told_at_once() -> None:
    data = {
        "name": "../x",
        "model": {"depth": 0, "bias": {"x": True}},
        "factors": {"norm": [], "bias": True},
        "baseline": [],
        "seeds": [0, -1, True],
        "design": "fractional",
        "plugins": ["", 1],
        "requires": [1],
        "device": "tpu",
        "dtype": "float8",
        "timeout": 0,
        "memory": "4 gib",
        "threads": 0,
        "recipe": 2,
        "scale_to": {"d_model": 0, "dpeth": 3},
        "recipes": "gpt2",
    }
    keys = (
        "baseline, design, device, dtype, exclude, executor, factors, measures, memory, model, "
        "name, placebo, plugins, recipe, requires, scale_to, seeds, threads, timeout"
    )
    assert file_faults(data) == [
        Fault(
            ("name",),
            f"expected {NAME}, not '../x'",
        ),
        Fault(("recipe",), "expected the name of a recipe, not 2"),
        Fault(("scale_to", "d_model"), "expected an integer > 0 or null, not 0"),
        Fault(
            ("scale_to", "dpeth"),
            "unknown key; did you mean 'depth'? known: context, d_model, depth",
            on_key=True,
        ),
        Fault(("model", "depth"), "expected an integer from 1 to 4096, not 0"),
        Fault(
            ("model", "bias", "x"), "unknown key; known: feed_forward, head, out, qkv", on_key=True
        ),
        Fault(("factors", "norm"), "expected a list of 1 to 1000 levels, not an empty list"),
        Fault(("factors", "bias"), "expected a list of 1 to 1000 levels, not true"),
        Fault(("baseline",), "expected a mapping of factors to their levels, not an empty list"),
        Fault(("seeds", 1), "expected an integer ≥ 0, not -1"),
        Fault(("seeds", 2), "expected an integer ≥ 0, not true"),
        Fault((), "missing key 'measures': what is done to each trial"),
        Fault(("design",), "expected full or one_at_a_time, not 'fractional'"),
        Fault(("plugins", 0), f"expected {PLUGIN}, not ''"),
        Fault(("plugins", 1), f"expected {PLUGIN}, not 1"),
        Fault(("requires", 0), "expected text such as 'my-plugin>=1.2', not 1"),
        Fault(("device",), "expected cpu, cuda or auto, not 'tpu'"),
        Fault(("dtype",), "expected float32, float64, bfloat16 or float16, not 'float8'"),
        Fault(("timeout",), "expected a number of seconds > 0 or null, not 0"),
        Fault(
            ("memory",),
            "expected an amount of memory such as 4 GiB or 500 MB, an integer of bytes > 0, or "
            "null, not '4 gib'",
        ),
        Fault(("threads",), "expected an integer from 1 to 1024, not 0"),
        Fault(("recipes",), f"unknown key; did you mean 'recipe'? known: {keys}", on_key=True),
    ]


@pytest.mark.parametrize("name", ["", ".x", "a/b", "a\n", "a b", "é", "x" * 101, "..", "-\0"])
def test_a_name_is_a_plain_file_name(name: str) -> None:
    (fault,) = file_faults({"name": name, "factors": {"norm": ["a"]}, "measures": ["b"]})
    assert fault.path == ("name",)


@pytest.mark.parametrize("seeds", [0, -1, 10**12, True, "5", 5.0, []])
def test_seeds_are_a_sensible_number_or_a_list(seeds: object) -> None:
    data = {"name": "x", "factors": {"norm": ["a"]}, "measures": ["b"], "seeds": seeds}
    (fault,) = file_faults(data)
    assert fault.path == ("seeds",)
    assert fault.message.startswith(
        "expected an integer from 1 to 10000 or a list of integers ≥ 0, not "
    )


def test_the_json_schema_describes_every_key() -> None:
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(schema["properties"]) == set(GridFile.model_fields)
    assert schema["required"] == ["name", "factors", "measures"]
    assert schema["additionalProperties"] is False
    model = schema["$defs"]["Model"]
    assert set(model["properties"]) == set(Model.model_fields)
    for described in (schema["properties"], model["properties"]):
        assert all(entry["description"] for entry in described.values())
    assert "llama-3-8b" in schema["properties"]["recipe"]["anyOf"][0]["enum"]
    assert set(schema["$defs"]["ScaleTo"]["properties"]) == {"d_model", "depth", "context"}
    assert schema["properties"]["design"]["enum"] == ["full", "one_at_a_time"]
    forms = model["properties"]["norm"]["anyOf"]
    assert [form["type"] for form in forms] == ["string", "object", "object"]
    assert len(model["properties"]["initializer"]["anyOf"]) == 2


@pytest.mark.parametrize("name", ["a", "norm-placement", "a.b", "_", "0", "console", "a" * 100])
def test_a_name_of_a_folder_is_taken(name: str) -> None:
    assert [fault for fault in file_faults({"name": name}) if fault.path == ("name",)] == []


ELSEWHERE = ("", ".", "..", "a/b", "a\\b", "/a", "C:", "CON", "nul.txt", "com1", "LPT9.x")
AWKWARD = ("-rf", "a.", "a b", "a\n", "a\0", "a\x1b[31m", "a\u202eb", "é", "a" * 101)


@pytest.mark.parametrize("name", [*ELSEWHERE, *AWKWARD])
def test_a_name_that_is_no_folder_everywhere_is_refused(name: str) -> None:
    faults = [fault for fault in file_faults({"name": name}) if fault.path == ("name",)]
    assert [fault.message.startswith(f"expected {NAME}, not ") for fault in faults] == [True]
