"""What is read: the same sequences whatever the batch, and what cannot be trained on."""

import pytest
import torch

from ablations.losses import UNSCORED
from ablations.streams import generator_of
from ablations.training.material import CHUNK, Sequences, Source
from tests.ablations.decoders import small


def material(length=12, **source):
    return Source(**source).material(length=length, vocab_size=256)


def sequences(part="training", seed=0, **source):
    return Sequences(material(**source), part, lambda name: generator_of(seed, name))


@pytest.mark.parametrize("data", ["text", "recall"])
def test_the_nth_sequence_is_the_same_whatever_the_batch(data):
    by_fours, by_threes, at_once = (sequences(data=data) for _ in range(3))
    count = 2 * CHUNK + 40
    tokens, targets = at_once.take(0, count)
    assert tokens.shape == targets.shape == (count, 12)
    for batch, taken in ((4, by_fours), (3, by_threes)):
        for first in range(0, count - batch, batch):
            some = taken.take(first, batch)
            assert torch.equal(some[0], tokens[first : first + batch])
            assert torch.equal(some[1], targets[first : first + batch])
    assert len(tokens.unique(dim=0)) > 0.9 * count


@pytest.mark.parametrize("data", ["text", "copying"])
def test_seeds_and_parts_have_sequences_of_their_own(data):
    first = sequences(data=data).take(0, 8)[0]
    assert torch.equal(first, sequences(data=data).take(0, 8)[0])
    assert not torch.equal(first, sequences(data=data, seed=1).take(0, 8)[0])
    assert not torch.equal(first, sequences("held_out", data=data).take(0, 8)[0])


def test_what_is_held_out_is_never_trained_on(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"ab" * 450 + b"cd" * 50)
    trained, held_out = (
        sequences(part, data=str(path)).take(0, 2 * CHUNK) for part in ("training", "held_out")
    )
    assert set(torch.cat(trained).flatten().tolist()) == set(b"ab")
    assert set(torch.cat(held_out).flatten().tolist()) == set(b"cd")


def test_the_cost_of_frequencies_is_that_of_the_targets():
    text = material()
    tokens, targets = text.draw("training", generator_of(0, "x"))
    assert torch.equal(tokens[:, 1:], targets[:, :-1])
    assert float(text.frequency_losses(targets).mean()) == pytest.approx(
        text.frequency_loss, abs=0.05
    )
    task = material(data="recall")
    tokens, targets = task.draw("training", generator_of(0, "x"))
    scored = int((targets != UNSCORED).sum())
    costs = task.frequency_losses(targets)
    assert costs.shape == (scored,)
    assert costs.unique().tolist() == pytest.approx([task.frequency_loss])
    assert 0 < task.chance < 0.5
    assert task.learnt_margin == pytest.approx(0.05 * (1 - task.chance))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            {"data": "random"},
            "data 'random' has nothing to learn: choose 'text', a file, or a task",
        ),
        (
            {"data": "recal"},
            "data 'recal' cannot be read: No such file or directory; did you mean 'recall'? known: "
            "copying, induction, recall, text",
        ),
        ({"data": ""}, "data '' names no text: 'text', a file or folder, or a task"),
        ({"data": "a\0b"}, "data 'a\\x00b' names no text: 'text', a file or folder, or a task"),
        ({"data": "recall", "tokenizer": "a.json"}, "tokenizer has no effect on the task 'recall'"),
        (
            {"data": "text", "task": {"pairs": 2}},
            "task has no effect on data 'text': it gives options of copying, induction, recall",
        ),
    ],
)
def test_what_cannot_be_trained_on_is_refused(source, said):
    assert Source(**source).refusal(length=12, vocab_size=256) == said
    with pytest.raises(ValueError) as raised:
        material(**source)
    assert str(raised.value) == said


def test_a_length_over_the_context_is_refused():
    architecture = small(context=16, vocab_size=256)
    assert Source().unsupported(architecture, None) is None
    assert Source().unsupported(architecture, 17) == "length 17 is over the context 16"
