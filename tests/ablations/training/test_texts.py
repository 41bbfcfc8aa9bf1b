"""A text as tokens: its size, entropies and split, and what cannot be trained on."""

import collections
import hashlib
import itertools
import math

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from ablations.training.texts import read_text, text_files, text_refusal


@pytest.fixture
def words(tmp_path):
    """A tokenizers file whose tokens are four words, with ids of its own."""
    vocabulary = {"[UNK]": 0, "the": 1, "cat": 2, "sat": 7}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    path = tmp_path / "words.json"
    tokenizer.save(str(path))
    return str(path)


def written(folder, name, data):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return str(path)


def refused(source, tokenizer=None, length=8, vocab_size=256):
    return text_refusal(source, tokenizer, length=length, vocab_size=vocab_size)


def entropy(items):
    counts = collections.Counter(items)
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values())


def test_the_built_in_text_is_english_bytes_whose_last_tenth_is_held_out():
    text = read_text("text")
    whole = text.tokens.tobytes()
    assert whole.startswith(b'The "assert" statement')
    assert text.training.tobytes() + text.held_out.tobytes() == whole
    assert len(text.held_out) == len(whole) // 10
    assert entropy(whole) == pytest.approx(3.261, abs=0.01)
    trained = text.training.tobytes()
    assert text.unigram_entropy == pytest.approx(entropy(trained), abs=1e-12)
    pairs = entropy(itertools.pairwise(trained)) - entropy(trained[:-1])
    assert text.bigram_entropy == pytest.approx(pairs, abs=1e-12)
    assert pairs == pytest.approx(2.453, abs=0.03)


def test_the_surprise_of_letters_is_their_entropy_on_average():
    text = read_text("text")
    surprise = text.surprise[np.asarray(text.training)]
    assert surprise.mean() == pytest.approx(text.unigram_entropy, abs=1e-9)
    assert np.isfinite(text.surprise).all()


def test_a_report_says_what_was_read(tmp_path):
    path = written(tmp_path, "a.txt", b"ab" * 50)
    assert read_text(path).in_words == (
        f"the text {path} (100 bytes, SHA-256 {hashlib.sha256(b'ab' * 50).hexdigest()[:12]}, "
        "unigram entropy 0.693 and bigram entropy 0.000 nats; the last tenth is held out)"
    )


def test_a_folder_is_its_files_in_order_but_for_hidden_ones(tmp_path):
    written(tmp_path, "b.txt", b"two")
    written(tmp_path, "a/z.txt", b"one")
    written(tmp_path, ".hidden", b"no")
    written(tmp_path, ".git/a", b"no")
    assert read_text(str(tmp_path)).tokens.tobytes() == b"onetwo"
    assert text_files(str(tmp_path)) == [str(tmp_path / "a/z.txt"), str(tmp_path / "b.txt")]


def test_an_edited_file_is_read_again(tmp_path):
    path = written(tmp_path, "a.txt", b"one")
    assert read_text(path).tokens.tobytes() == b"one"
    written(tmp_path, "a.txt", b"another")
    assert read_text(path).tokens.tobytes() == b"another"


def test_a_text_that_is_edited_while_it_is_read_does_not_change(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"ab" * 4000)
    text = read_text(str(path))
    with path.open("r+b") as file:
        file.write(b"zq" * 10)
        file.truncate(20)
    assert text.tokens.tobytes() == b"ab" * 4000
    assert text.largest == ord("b")


def test_a_tokenizer_gives_its_own_ids(tmp_path, words):
    path = written(tmp_path, "a.txt", b"the cat sat on the cat")
    text = read_text(path, words)
    assert text.tokens.tolist() == [1, 2, 7, 0, 1, 2]
    assert text.largest == 7
    assert text_files(path, words) == [path, words]
    assert "6 tokens of words.json" in text.in_words


def test_what_cannot_be_trained_on_is_refused(tmp_path, words):
    empty = written(tmp_path, "empty.txt", b"")
    short = written(tmp_path, "short.txt", b"x" * 80)
    latin = written(tmp_path, "latin.txt", "caf\xe9".encode("latin-1"))
    long = written(tmp_path, "long.txt", b"the cat sat " * 100)
    same = written(tmp_path, "same.txt", b"a" * 1000)
    assert refused(same) == (
        f"data {same!r} has one token alone, again and again: there is nothing to learn"
    )
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    assert refused("text") is None
    assert refused(long, words, vocab_size=8) is None
    assert refused(empty) == f"data {empty!r} is empty"
    assert refused(short) == (
        f"data {short!r} is too short: its last tenth, which is held out, has 8 of 80 tokens, and "
        "length 8 needs 9 or more"
    )
    assert refused(latin, words) == (
        f"data {latin!r} is not UTF-8, so it cannot be tokenized: byte 3 is 0xe9; without a "
        "tokenizer it is read byte by byte"
    )
    assert refused(long, words, vocab_size=7) == (
        f"token id 7 of data {long!r} is outside the vocabulary: vocab_size must be at least 8, "
        "not 7"
    )
    assert refused("text", vocab_size=128) == (
        "data 'text' is read byte by byte: vocab_size must be at least 256"
    )
    assert refused(str(tmp_path / "no.txt")) == (
        f"data {str(tmp_path / 'no.txt')!r} cannot be read: No such file or directory"
    )
    assert refused(str(nothing)) == f"data {str(nothing)!r} cannot be read: No file in this folder"


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path):
    path = written(tmp_path, "a.json", b"{}")
    text = written(tmp_path, "a.txt", b"x" * 1000)
    said = refused(text, path)
    assert said is not None
    assert said.startswith(f"tokenizer {path!r} is no Hugging Face tokenizers file: ")
    assert "\n" not in said
    missing = str(tmp_path / "none.json")
    assert refused(text, missing) == f"data {missing!r} cannot be read: No such file or directory"
