"""Checkpoints: whole, of this run and this trial, or not believed; gone when not needed."""

import hashlib
import json
import pickle
import re

import pytest
import torch

from ablations.checkpoints import Checkpoint, CheckpointFolder, checkpoint_of

KEY = bytes(range(32))
TRIAL = {"cell": "c", "seed": -1, "measure": "m", "identity": "i"}


def folder(tmp_path, key=KEY):
    return CheckpointFolder(path=str(tmp_path / "kept"), key=key)


@pytest.fixture
def place(tmp_path):
    return checkpoint_of(folder(tmp_path), **TRIAL)


def files(tmp_path):
    return sorted(path.name for path in (tmp_path / "kept").iterdir())


def test_what_was_kept_comes_back_to_the_bit(place):
    assert place.load() is None
    tensors = {"a": torch.randn(3, 4), "b": torch.tensor(7, dtype=torch.int64)}
    state = {"done": 3, "row": [1.5, float("nan"), 0.1], "at": {10: "ten", 9: "größer"}}
    place.save(tensors, state)
    kept, state = place.load()
    assert kept.keys() == tensors.keys()
    assert all(torch.equal(kept[name], tensors[name]) for name in tensors)
    assert state["done"] == 3
    assert repr(state["row"]) == "[1.5, nan, 0.1]"
    assert state["at"] == {"10": "ten", "9": "größer"}


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
        assert checkpoint_of(folder(tmp_path), **TRIAL | other).load() is None


def refused(place, reason):
    """It is not taken up, and that is said."""
    with pytest.warns(RuntimeWarning) as told:
        assert place.load() is None
    (message,) = (str(warning.message) for warning in told)
    assert re.fullmatch(
        rf"the checkpoint \S+\.json is not taken up, and its trial starts anew: {reason}", message
    )


CHANGED = "it was changed since it was written, or is another run's"
TORN = "its files are not whole"


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("flip", "its tensors were changed since they were written"),
        ("truncate", "its tensors were changed since they were written"),
        ("remove", TORN),
        ("empty", TORN),
        ("half", TORN),
        ("deep", TORN),
        ("list", TORN),
        ("unsigned", TORN),
        ("number", TORN),
    ],
)
def test_a_damaged_one_is_not_taken_up(place, tmp_path, damage, reason):
    place.save({"a": torch.zeros(100)}, {"done": 1})
    (tensors,) = (tmp_path / "kept").glob("*.safetensors")
    (document,) = (tmp_path / "kept").glob("*.json")
    data, text = tensors.read_bytes(), document.read_text()
    if damage == "flip":
        tensors.write_bytes(data[:-1] + b"\x01")
    elif damage == "truncate":
        tensors.write_bytes(data[:-9])
    elif damage == "remove":
        tensors.unlink()
    else:
        document.write_text(
            {
                "empty": "",
                "half": text[: len(text) // 2],
                "deep": "[" * 100_000,
                "list": json.dumps(["not", "a", "checkpoint"]),
                "unsigned": json.dumps({"sha256": "0", "state": {}}),
                "number": json.dumps({"sha256": "0", "state": {}, "hmac": 3}),
            }[damage]
        )
    refused(place, reason)


def test_an_edited_one_is_not_believed(place, tmp_path):
    place.save({"a": torch.zeros(100)}, {"done": 1})
    (path,) = (tmp_path / "kept").glob("*.json")
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "state": {"done": 2}}))
    refused(place, CHANGED)
    # Tensors of one's own, with the digest that is theirs.
    (tensors,) = (tmp_path / "kept").glob("*.safetensors")
    data = tensors.read_bytes()[:-1] + b"\x01"
    digest = hashlib.sha256(data).hexdigest()
    tensors.with_name(tensors.name.replace(document["sha256"][:16], digest[:16])).write_bytes(data)
    path.write_text(json.dumps({**document, "sha256": digest}))
    refused(place, CHANGED)
    path.write_text(json.dumps(document))
    assert place.load()[1] == {"done": 1}


def test_one_of_another_run_is_not_believed(place, tmp_path):
    checkpoint_of(folder(tmp_path, bytes(32)), **TRIAL).save({"a": torch.zeros(1)}, {"done": 1})
    refused(place, CHANGED)


def test_one_of_another_trial_is_not_believed(place, tmp_path):
    other = checkpoint_of(folder(tmp_path), **TRIAL | {"seed": 1})
    other.save({"a": torch.zeros(1)}, {"done": 1})
    for path in list((tmp_path / "kept").iterdir()):
        path.rename(path.with_name(path.name.replace("c-1-", "c--1-")))
    refused(place, CHANGED)


def test_a_folder_is_small_to_send_and_shows_no_key(tmp_path):
    assert len(pickle.dumps(folder(tmp_path))) < 250
    assert repr(folder(tmp_path)) == f"CheckpointFolder(path={str(tmp_path / 'kept')!r})"


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
    place = checkpoint_of(folder(tmp_path), **TRIAL)
    with pytest.warns(RuntimeWarning) as warned:
        place.save({"a": torch.zeros(1)}, {})
    told = f"no checkpoint was kept: {tmp_path / 'kept'} cannot be written: File exists"
    assert [str(one.message) for one in warned] == [told]
