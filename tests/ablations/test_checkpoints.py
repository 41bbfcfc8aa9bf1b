"""Checkpoints: whole or not at all, and gone when they are not needed any more."""

import json

import pytest
import torch

from ablations.checkpoints import Checkpoint, checkpoint_of


@pytest.fixture
def place(tmp_path):
    return checkpoint_of(str(tmp_path / "kept"), cell="c", seed=-1, measure="m", identity="i")


def files(tmp_path):
    return sorted(path.name for path in (tmp_path / "kept").iterdir())


def test_what_was_kept_comes_back_to_the_bit(place):
    assert place.load() is None
    tensors = {"a": torch.randn(3, 4), "b": torch.tensor(7, dtype=torch.int64)}
    place.save(tensors, {"done": 3, "row": [1.5, float("nan"), 0.1]})
    kept, state = place.load()
    assert kept.keys() == tensors.keys()
    assert all(torch.equal(kept[name], tensors[name]) for name in tensors)
    assert state["done"] == 3
    assert repr(state["row"]) == "[1.5, nan, 0.1]"


def test_only_the_last_is_kept_and_none_after_the_end(place, tmp_path):
    for done in range(3):
        place.save({"a": torch.full((2,), float(done))}, {"done": done})
    kept, state = place.load()
    assert (kept["a"].tolist(), state) == ([2.0, 2.0], {"done": 2})
    assert [name.rpartition(".")[2] for name in files(tmp_path)] == ["safetensors", "json"]
    place.discard()
    assert files(tmp_path) == []


def test_trials_do_not_share_one(place, tmp_path):
    place.save({"a": torch.zeros(1)}, {})
    for other in ({"cell": "d"}, {"seed": 1}, {"measure": "n"}, {"identity": "j"}):
        asked = {"cell": "c", "seed": -1, "measure": "m", "identity": "i", **other}
        assert checkpoint_of(str(tmp_path / "kept"), **asked).load() is None


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove", "document", "words"])
def test_a_damaged_one_is_not_taken_up(place, tmp_path, damage):
    place.save({"a": torch.zeros(100)}, {"done": 1})
    (tensors,) = (tmp_path / "kept").glob("*.safetensors")
    (document,) = (tmp_path / "kept").glob("*.json")
    data = tensors.read_bytes()
    if damage == "flip":
        tensors.write_bytes(data[:-1] + b"\x01")
    elif damage == "truncate":
        tensors.write_bytes(data[:-9])
    elif damage == "remove":
        tensors.unlink()
    elif damage == "document":
        document.write_text("{")
    else:
        document.write_text(json.dumps(["not", "a", "checkpoint"]))
    assert place.load() is None


def test_without_a_place_nothing_is_kept():
    place = Checkpoint()
    place.save({"a": torch.zeros(1)}, {})
    assert place.load() is None
    assert not place.due
    place.discard()


def test_the_time_between_two_can_be_set(place, monkeypatch):
    assert not place.due
    monkeypatch.setenv("ABLATIONS_CHECKPOINT_SECONDS", "0")
    assert place.due
    monkeypatch.setenv("ABLATIONS_CHECKPOINT_SECONDS", "soon")
    with pytest.raises(ValueError) as raised:
        _ = place.due
    assert str(raised.value) == (
        "ABLATIONS_CHECKPOINT_SECONDS must be a number of seconds, not 'soon'"
    )


def test_a_place_that_cannot_be_written_costs_the_checkpoint_alone(tmp_path):
    (tmp_path / "kept").write_text("a file where the folder would be")
    place = checkpoint_of(str(tmp_path / "kept"), cell="c", seed=0, measure="m", identity="i")
    with pytest.warns(RuntimeWarning, match="no checkpoint was kept"):
        place.save({"a": torch.zeros(1)}, {})
