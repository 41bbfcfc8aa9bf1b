"""Arrays of a run: listed at once, read when they are asked for, and what may be in the way."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ablations.results import ArrayValues
from ablations.store import DamagedStore, NoRun, NotAStore, Store, StoreError
from tests.ablations.stores import PLAN, cell, result

VALUES = np.arange(6, dtype=">f4").reshape(2, 3)
MAP = ArrayValues(shape=(2, 3), dtype=">f4", data=VALUES.tobytes())


def recorded(store: Store, name: str = "a", **arrays: ArrayValues) -> None:
    store.record(result(name, arrays={f"flow.{key}": array for key, array in arrays.items()}))


def test_an_array_comes_back_with_its_type_and_shape_read_only(store: Store) -> None:
    whole = ArrayValues(shape=(), dtype="<i8", data=np.int64(-3).tobytes())
    none = ArrayValues(shape=(0, 4), dtype="|b1", data=b"")
    recorded(store, map=MAP, whole=whole, none=none)
    arrays = store.frames().arrays
    found = arrays["a", 7, "flow.map"]
    assert (found.dtype, found.shape, found.flags.writeable) == (np.dtype(">f4"), (2, 3), False)
    assert np.array_equal(found, VALUES)
    assert arrays["a", 7, "flow.whole"] == np.int64(-3)
    assert arrays["a", 7, "flow.none"].shape == (0, 4)
    with pytest.raises(ValueError, match="read-only"):
        found[0, 0] = 1


def test_keys_are_those_of_planned_results_in_the_order_of_the_grid(store: Store) -> None:
    recorded(store, "a", two=MAP, one=MAP)
    recorded(store, "b", one=MAP)
    store.record(result(seed=3, identity="of an edited plugin", arrays={"flow.one": MAP}))
    store.record(result(seed=8, arrays={"flow.one": MAP}))
    arrays = store.frames().arrays
    keys = [("b", 7, "flow.one"), ("a", 7, "flow.one"), ("a", 7, "flow.two")]
    assert list(arrays) == keys
    assert len(arrays) == 3
    smaller = replace(PLAN, cells=(cell("a", "layernorm"),), identities={("a", "flow"): "id-a"})
    store.begin(smaller)
    assert list(store.frames().arrays) == keys[1:]


def test_a_key_is_looked_up_without_reading(store: Store) -> None:
    recorded(store, map=MAP)
    frames = store.frames()
    store.close()
    (store.directory / "results.sqlite").unlink()
    assert ("a", 7, "flow.map") in frames.arrays
    assert ("a", 7, "flow.maps") not in frames.arrays
    assert "flow.map" not in repr(frames.arrays)
    with pytest.raises(KeyError):
        frames.arrays["a", 7, "flow.maps"]


def test_frames_outlive_the_store_and_travel(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(store, map=MAP)
    store.close()
    monkeypatch.chdir(store.directory.parent)
    with Store.open_readonly(store.directory.name) as reader:
        frames = reader.frames()
    monkeypatch.chdir("/")
    for one in (frames, replace(frames, name="other"), pickle.loads(pickle.dumps(frames))):
        assert one.arrays == frames.arrays
        assert np.array_equal(one.arrays["a", 7, "flow.map"], VALUES)


def refused(store: Store, kind: type[StoreError], message: str) -> None:
    frames = store.frames()
    store.close()
    spoil(store.directory / "results.sqlite", kind)
    with pytest.raises(StoreError, match=f"^{re.escape(message)}$") as caught:
        frames.arrays["a", 7, "flow.map"]
    assert type(caught.value) is kind


def spoil(path: Path, kind: type[StoreError]) -> None:
    if kind is NoRun:
        path.unlink()
    elif kind is NotAStore:
        path.write_bytes(b"nothing of the kind " * 500)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (NoRun, "{directory} holds no run: there is no results.sqlite"),
        (NotAStore, "{directory}/results.sqlite is not an SQLite database"),
    ],
)
def test_a_file_that_is_gone_is_told_in_a_line(
    store: Store, kind: type[StoreError], message: str
) -> None:
    recorded(store, map=MAP)
    refused(store, kind, message.format(directory=store.directory))


def test_damaged_pages_are_told_in_a_line(store: Store) -> None:
    big = ArrayValues(shape=(50_000,), dtype="<f8", data=bytes(400_000))
    recorded(store, map=big)
    frames = store.frames()
    store.close()
    path = store.directory / "results.sqlite"
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(DamagedStore) as caught:
        frames.arrays["a", 7, "flow.map"]
    assert str(caught.value).startswith(f"{path} is damaged (")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"shape": (2, 2)}, "24 bytes are not >f4 (2, 2)"),
        ({"dtype": "f32"}, "data type 'f32' not understood"),
        ({"dtype": "O", "shape": (3,)}, "24 bytes are not |O (3,)"),
    ],
)
def test_what_is_no_array_is_told_as_damage(
    store: Store, changes: dict[str, object], finding: str
) -> None:
    recorded(store, map=replace(MAP, **changes))  # type: ignore[arg-type]
    refused(
        store,
        DamagedStore,
        f"{store.path} is damaged (array flow.map: {finding}); move it aside and run again, or "
        "restore a copy of it",
    )


def test_a_result_measured_anew_is_not_taken_for_the_old_one(store: Store) -> None:
    recorded(store, map=MAP)
    frames = store.frames()
    store.record(result(identity="of an edited plugin", arrays={"flow.map": MAP}))
    with pytest.raises(StoreError) as caught:
        frames.arrays["a", 7, "flow.map"]
    assert str(caught.value) == (
        f"{store.path}: flow.map of cell a, seed 7, has been measured anew since these frames were "
        "read: read them again"
    )
