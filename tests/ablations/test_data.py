"""What a pass reads: random tokens, the built-in text, a file."""

import collections
import math
import os

import pytest
import torch

from ablations.data import files_of, refusal, sequences, text_of
from ablations.streams import generator_of


def take(source, **more):
    sizes = {"batch": 3, "length": 10, "vocab_size": 256, **more}
    return sequences(source, **sizes, generator=lambda name: generator_of(0, name))


def test_the_built_in_text_has_the_entropies_of_english():
    text = bytes(text_of("text"))
    assert text.startswith(b'The "assert" statement')
    assert len(text) > 400_000
    counts = collections.Counter(text)
    entropy = -sum(n / len(text) * math.log(n / len(text)) for n in counts.values())
    assert entropy == pytest.approx(3.261, abs=0.01)


@pytest.mark.parametrize("source", ["text", "file"])
def test_targets_are_the_bytes_that_follow(source, tmp_path):
    if source == "file":
        source = str(tmp_path / "a.txt")
        (tmp_path / "a.txt").write_bytes(bytes(range(256)) * 4)
    tokens, targets = take(source)
    assert tokens.shape == targets.shape == (3, 10)
    assert torch.equal(tokens[:, 1:], targets[:, :-1])
    whole = bytes(text_of(source))
    assert all(bytes(row.tolist()) in whole for row in torch.cat([tokens, targets[:, -1:]], 1))


def test_every_place_of_a_text_can_be_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"abcd")
    rows, last = take(str(path), batch=50, length=2)
    assert {bytes(row.tolist()) for row in rows} == {b"ab", b"bc"}
    assert {int(row[-1]) for row in last} == {ord("c"), ord("d")}


def test_random_targets_do_not_follow():
    tokens, targets = take("random", vocab_size=7)
    assert int(max(tokens.max(), targets.max())) < 7
    assert not torch.equal(tokens[:, 1:], targets[:, :-1])
    assert torch.equal(tokens, take("random", vocab_size=7)[0])


def test_what_cannot_be_read_is_refused(tmp_path):
    def refused(source, vocab_size=256):
        return refusal(source, length=8, vocab_size=vocab_size)

    assert refused("random", 2) is None
    assert refused("text") is None
    assert refused("text", 64) == (
        "data 'text' is read byte by byte: vocab_size must be at least 256"
    )
    assert refused("texte") == (
        "data 'texte' is neither 'random' nor 'text' nor a file or folder that can be read (No "
        "such file or directory); did you mean 'text'? known: random, text"
    )
    for size in (0, 8):
        (tmp_path / "short").write_bytes(b"x" * size)
        source = str(tmp_path / "short")
        assert refused(source) == f"data {source!r} has {size} bytes, and length 8 needs 9 or more"
    (tmp_path / "short").write_bytes(b"x" * 9)
    assert refused(source) is None
    assert refused("") == "data '' names no text: 'random', 'text', or a file or folder"
    os.mkfifo(tmp_path / "pipe")
    assert "(Not a regular file)" in refused(str(tmp_path / "pipe"))
    (tmp_path / "empty").mkdir()
    assert "(No file in this folder)" in refused(str(tmp_path / "empty"))
    with pytest.raises(ValueError, match="neither 'random' nor 'text'"):
        take("texte")


def test_files_are_told():
    assert files_of("random") == []
    assert [path.name for path in files_of("text")] == ["topics.py"]
    assert [str(path) for path in files_of("a/b.txt")] == ["a/b.txt"]
