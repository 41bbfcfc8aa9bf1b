"""What is listed."""

import json


def test_components_lists_what_is_registered(inline):
    status, out, _ = inline("components", "--json")
    documents = json.loads(out)
    assert status == 0
    assert {frozenset(document) for document in documents} == {
        frozenset({"kind", "name", "plugin", "version", "options", "summary", "source"})
    }
    (gqa,) = (d for d in documents if d["name"] == "gqa")
    assert gqa["plugin"] == "ablations"
    assert gqa["options"][0] == {
        "name": "n_kv_heads",
        "type": "int > 0, required",
        "default": None,
    }
    status, text, _ = inline("components")
    assert status == 0
    listed, _, measures = text.partition("\n\nmeasure\n")
    assert "rmsnorm" in listed
    assert "  gradient_flow: How the loss's gradient reaches each depth at init" in measures
    assert "      cost: one forward and backward pass" in measures


def test_plugins_lists_who_registered_what(inline):
    status, out, _ = inline("plugins", "--json")
    documents = {document["name"]: document for document in json.loads(out)}
    assert status == 0
    ours = documents["ablations:components"]
    assert set(ours) == {"name", "version", "state", "message", "components"}
    assert ours["state"] == "loaded"
    assert "norm rmsnorm" in ours["components"]
    assert "loaded" in inline("plugins")[1]


def test_schema_is_a_json_schema(inline):
    status, out, _ = inline("schema")
    document = json.loads(out)
    assert status == 0
    assert document["$schema"].startswith("https://json-schema.org/")
    assert "model" in document["properties"]
