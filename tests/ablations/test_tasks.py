"""Synthetic tasks: each target follows from the tokens, and from nothing within the gap."""

import collections
import pickle
from dataclasses import FrozenInstanceError

import pytest
import torch
from scipy import stats

from ablations.losses import UNSCORED
from ablations.tasks import TASKS, task_of

KINDS = ["copying", "induction", "recall"]


def draw(name, count=32, length=32, vocab_size=64, seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    return task_of(name, options).sequences(count, length, vocab_size, generator)


def scored(targets):
    """The targets that are scored, (N, K): every sequence has the same number."""
    return targets[targets != UNSCORED].view(len(targets), -1)


def recalled(seen, vocab_size, things):
    """What stood after the last token where it stood before, if it is a key."""
    third = vocab_size // 3
    *before, query = seen
    if third <= query < 2 * third and query in before:
        return seen[before.index(query) + 1]
    return UNSCORED


def copied(seen, vocab_size, things):
    """At the n-th marker the n-th item, if it is there to be seen."""
    items = [token for token in seen if token >= vocab_size // 2]
    nth = seen.count(0) - 1
    return items[nth] if seen[-1] == 0 and nth < len(items) else UNSCORED


def induced(seen, vocab_size, triggers):
    """What stood after the last token where it stood before, if it is a trigger."""
    *before, query = seen
    if query < triggers and query in before:
        return seen[before.index(query) + 1]
    return UNSCORED


SOLVE = {"copying": copied, "induction": induced, "recall": recalled}
THINGS = {"copying": "items", "induction": "triggers", "recall": "pairs"}


def solved(name, tokens, vocab_size, things=4, window=None):
    """The targets as a slow solver finds them, which reads the `window` latest tokens at most."""
    return [
        [
            SOLVE[name](row[max(0, t + 1 - (window or t + 1)) : t + 1], vocab_size, things)
            for t in range(len(row))
        ]
        for row in tokens.tolist()
    ]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    ("length", "vocab_size", "things", "gap"),
    [(32, 64, 4, None), (64, 256, 8, None), (24, 31, 5, 3), (40, 13, 3, 0), (12, 12, 4, 0)],
)
def test_every_target_follows_from_the_tokens_before(name, length, vocab_size, things, gap):
    options = {THINGS[name]: things, "gap": gap}
    tokens, targets = draw(name, length=length, vocab_size=vocab_size, **options)
    assert tokens.shape == targets.shape == (32, length)
    assert tokens.dtype == targets.dtype == torch.int64
    assert 0 <= int(tokens.min()) <= int(tokens.max()) < vocab_size
    assert scored(targets).shape == (32, things)
    assert solved(name, tokens, vocab_size, things) == targets.tolist()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("gap", [0, 1, 7, 20])
def test_nothing_within_the_gap_tells_an_answer(name, gap):
    tokens, _ = draw(name, gap=gap)
    within = torch.tensor(solved(name, tokens, 64, window=gap + 1))
    assert (within == UNSCORED).all()
    # Nothing can be nearer than this in the shortest sequence, and so it is found just beyond.
    shortest = TASKS[name].tokens_a_thing + gap
    tokens, targets = draw(name, length=shortest, gap=gap, **{THINGS[name]: 1})
    assert solved(name, tokens, 64, 1, window=gap + 1) != targets.tolist()
    assert solved(name, tokens, 64, 1, window=gap + 3) == targets.tolist()


def learnt(name, window):
    """The accuracy of one who has learnt what mostly follows the `window` latest tokens.

    Sequences are so small that all that can stand before an answer is seen often.
    """
    sizes = {"length": 6, "vocab_size": 5, "gap": 2, THINGS[name]: 1}
    counts = collections.defaultdict(collections.Counter)
    right = []
    for seed in (0, 1):
        tokens, targets = draw(name, count=5_000, seed=seed, **sizes)
        for row, answers in zip(tokens.tolist(), targets.tolist(), strict=True):
            (t,) = (t for t, answer in enumerate(answers) if answer != UNSCORED)
            seen = tuple(row[max(0, t + 1 - window) : t + 1])
            if seed == 0:
                counts[seen][answers[t]] += 1
            else:
                right.append(counts[seen].most_common(1)[0][0] == answers[t])
    return sum(right) / len(right)


@pytest.mark.parametrize(("name", "answers"), [("copying", 3), ("induction", 4), ("recall", 3)])
def test_one_who_reads_no_further_than_the_gap_is_at_chance(name, answers):
    assert task_of(name, {THINGS[name]: 1}).n_answers(6, 5) == answers
    assert learnt(name, window=3) == pytest.approx(1 / answers, abs=0.03)
    assert learnt(name, window=6) > 0.99


@pytest.mark.parametrize("name", KINDS)
def test_answers_are_equally_likely_whatever_is_asked(name):
    tokens, targets = draw(name, count=20_000, length=16, vocab_size=17, **{THINGS[name]: 3})
    n = task_of(name, {THINGS[name]: 3}).n_answers(16, 17)
    answers = scored(targets)
    counts = answers.flatten().bincount()
    counts = counts[counts > 0]
    assert len(counts) == n
    assert stats.chisquare(counts).pvalue > 1e-3
    queries = tokens[targets != UNSCORED].view_as(answers)
    before = tokens.roll(1, dims=1)[targets != UNSCORED].view_as(answers)
    for given in (queries, before, answers.roll(1, dims=1)):
        # Of the first in a sequence alone: the answers of one sequence are asked for together.
        together = stats.contingency.crosstab(given[:, 0].numpy(), answers[:, 0].numpy()).count
        assert stats.chi2_contingency(together).pvalue > 1e-3


@pytest.mark.parametrize("name", KINDS)
def test_sequences_depend_on_the_generator_alone(name):
    torch.manual_seed(0)
    tokens, targets = draw(name)
    state = torch.random.get_rng_state()
    torch.manual_seed(1)
    again = draw(name)
    assert torch.equal(tokens, again[0])
    assert torch.equal(targets, again[1])
    torch.manual_seed(0)
    assert torch.equal(state, torch.random.get_rng_state())
    assert not torch.equal(tokens, draw(name, seed=1)[0])
    assert len(tokens.unique(dim=0)) == len(tokens)


def test_a_recall_is_laid_out_as_told():
    tokens, targets = draw("recall", count=500, length=24, vocab_size=20, pairs=3, gap=10)
    keys, values = tokens[:, 0:6:2], tokens[:, 1:6:2]
    assert set(keys.flatten().tolist()) == set(range(6, 12))
    assert set(values.flatten().tolist()) == set(range(12, 20))
    assert all(len(set(row)) == 3 for row in keys.tolist())
    assert any(len(set(row)) < 3 for row in values.tolist())
    queried = targets != UNSCORED
    assert set(tokens[:, 6:][~queried[:, 6:]].tolist()) == set(range(6))
    assert torch.equal(tokens[queried].view(-1, 3).sort().values, keys.sort().values)
    assert set(queried.nonzero()[:, 1].tolist()) == set(range(16, 24))
    orders = {tuple(row.index(key) for key in asked) for row, asked in zip(
        keys.tolist(), tokens[queried].view(-1, 3).tolist(), strict=True
    )}  # fmt: skip
    assert len(orders) == 6


def test_a_copying_is_laid_out_as_told():
    tokens, targets = draw("copying", count=500, length=20, vocab_size=9, items=3, gap=8)
    assert set(tokens[:, 17:].flatten().tolist()) == {0}
    items = tokens >= 4
    assert set(items.nonzero()[:, 1].tolist()) == set(range(9))
    assert set(tokens[items].tolist()) == set(range(4, 9))
    assert set(tokens[:, :17][~items[:, :17]].tolist()) == {1, 2, 3}
    assert torch.equal(tokens[items].view(-1, 3), targets[:, 17:])


def test_an_induction_is_laid_out_as_told():
    tokens, targets = draw("induction", count=500, length=22, vocab_size=9, triggers=3, gap=9)
    triggers = tokens < 3
    assert all(sorted(row) == [0, 1, 2] for row in tokens[:, 19:].tolist())
    assert all(sorted(row[row < 3].tolist()) == [0, 1, 2] for row in tokens[:, :19])
    assert set(triggers.nonzero()[:, 1].tolist()) == {*range(9), *range(19, 22)}
    # Three pairs among four other tokens: 7 choose 3.
    assert len({tuple(row) for row in triggers[:, :10].tolist()}) == 35
    assert set(scored(targets).flatten().tolist()) == set(range(3, 9))
    orders = {(*row[:19][row[:19] < 3].tolist(), *row[19:].tolist()) for row in tokens}
    assert len(orders) == 6 * 6


@pytest.mark.parametrize(("name", "shortest"), [("copying", 8), ("induction", 12), ("recall", 12)])
def test_the_gap_is_half_the_length_or_all_that_is_left(name, shortest):
    for length in range(shortest, 40):
        gap = min(length // 2, length - shortest)
        tokens, targets = draw(name, count=4, length=length)
        assert torch.equal(tokens, draw(name, count=4, length=length, gap=gap)[0])
        assert solved(name, tokens, 64) == targets.tolist()


@pytest.mark.parametrize(
    ("name", "options", "length", "vocab_size"),
    [
        ("copying", {}, 8, 4),
        ("copying", {"items": 1, "gap": 5}, 7, 4),
        ("induction", {}, 12, 6),
        ("induction", {"triggers": 1, "gap": 0}, 3, 3),
        ("recall", {}, 12, 12),
        ("recall", {"pairs": 1, "gap": 2}, 5, 4),
    ],
)
def test_the_smallest_sizes_are_taken_and_smaller_ones_refused(name, options, length, vocab_size):
    task = task_of(name, options)
    assert task.refusal(length, vocab_size) is None
    tokens, targets = draw(name, length=length, vocab_size=vocab_size, **options)
    things = options.get(THINGS[name], 4)
    assert solved(name, tokens, vocab_size, things) == targets.tolist()
    assert len(scored(targets).unique()) == task.n_answers(length, vocab_size) >= 2
    assert task.refusal(length - 1, vocab_size)
    assert task.refusal(length, vocab_size - 1)
    assert draw(name, count=0, length=length, vocab_size=vocab_size, **options)[0].shape[0] == 0


@pytest.mark.parametrize(
    ("name", "options", "sizes", "said"),
    [
        (
            "recall",
            {"pairs": 6, "gap": 16},
            (32, 64),
            "task 'recall' with pairs 6 and gap 16 needs a length of at least 34, not 32",
        ),
        (
            "recall",
            {"gap": 30},
            (64, 8),
            "task 'recall' with pairs 4 needs a vocab_size of at least 12, not 8",
        ),
        (
            "copying",
            {},
            (7, 3),
            "task 'copying' with items 4 needs a length of at least 8, not 7, "
            "and a vocab_size of at least 4, not 3",
        ),
        (
            "induction",
            {"triggers": 1},
            (2, 64),
            "task 'induction' with triggers 1 needs a length of at least 3, not 2",
        ),
    ],
)
def test_what_does_not_fit_is_refused(name, options, sizes, said):
    assert task_of(name, options).refusal(*sizes) == said
    with pytest.raises(ValueError) as raised:
        draw(name, length=sizes[0], vocab_size=sizes[1], **options)
    assert str(raised.value) == said


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        (
            "recal",
            {},
            "no task is named 'recal'; did you mean 'recall'? known: copying, induction, recall",
        ),
        (
            "recall",
            {"pears": 4},
            "task 'recall' has no option 'pears'; did you mean 'pairs'? known: gap, pairs",
        ),
        ("recall", {"pairs": 0}, "option 'pairs' of task 'recall' must be int > 0, not 0"),
        (
            "copying",
            {"items": True, "gap": -1},
            "option 'gap' of task 'copying' must be int ≥ 0 or null, not -1; "
            "option 'items' of task 'copying' must be int > 0, not true",
        ),
    ],
)
def test_what_is_no_task_and_no_option_is_refused(name, options, said):
    with pytest.raises(ValueError) as raised:
        task_of(name, options)
    assert str(raised.value) == said


def test_a_task_is_told_in_words():
    assert task_of("recall", {"gap": 16}).in_words() == (
        "multi-query associative recall (pairs 4, gap 16)"
    )
    assert task_of("copying", {"items": 6}).in_words() == (
        "selective copying (items 6, gap up to half the length)"
    )
    assert task_of("induction", {"triggers": 1, "gap": 0}).in_words() == (
        "induction heads (triggers 1, gap 0)"
    )


def test_tasks_are_values():
    assert list(TASKS) == KINDS
    task = task_of("recall", {"gap": 3})
    assert pickle.loads(pickle.dumps(task)) == task == TASKS["recall"](gap=3, pairs=4)
    with pytest.raises(FrozenInstanceError):
        task.gap = 4
