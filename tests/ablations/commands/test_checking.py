"""Recipes held against what was published; components are in test_checking."""

import json

import pytest


def test_recipes_tells_totals_roles_and_sources(inline):
    status, out, err = inline("recipes", "gpt2", "opt-350m", "gpt2")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("gpt2: 124,439,808 parameters, as published (Radford et al. 2019")
    assert lines[1] == (
        "  embedding 39,383,808, attention 28,348,416, feed_forward 56,669,184, norm 38,400; "
        "a block 7,087,872"
    )
    assert ", other 1,048,576; " in out  # the projections of the embedding
    assert lines[-1] == "2 recipes, as published"


def test_recipes_as_json_is_one_document_and_nothing_else(inline):
    status, out, err = inline("recipes", "smollm2-135m", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == [
        {
            "name": "smollm2-135m",
            "assembled": 134_515_008,
            "published": 134_515_008,
            "equal": True,
            "source": "arXiv:2502.02737; huggingface.co/HuggingFaceTB/SmolLM2-135M",
        }
    ]


@pytest.mark.parametrize("count", ["parameters", "block", "embedding", "head"])
def test_a_count_that_is_not_as_published_is_status_1(inline, monkeypatch, count):
    from ablations.recipes import recipe

    right = recipe.read_recipe("smollm2-135m")
    other = {**right.published.model_dump(), count: getattr(right.published, count) + 1}
    wrong = right.model_copy(update={"published": recipe.Published(**other)})
    monkeypatch.setattr(recipe, "read_recipe", lambda name: wrong)
    status, out, _ = inline("recipes", "smollm2-135m")
    assert status == 1
    ours = f"{getattr(right.published, count):,}"
    assert f"  {count}: assembled {ours}, published {other[count]:,}, -1\n" in out
    assert out.endswith("1 recipe, not as published: smollm2-135m\n")
    status, out, _ = inline("recipes", "smollm2-135m", "--json")
    assert status == 1
    assert json.loads(out)[0]["equal"] is False


def test_a_recipe_that_is_not_there_is_one_line(inline):
    status, out, err = inline("recipes", "gpt2", "lama-3-8b")
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith(
        "no recipe is named 'lama-3-8b'; did you mean 'llama-3-8b'? known: bloom-560m, "
    )
