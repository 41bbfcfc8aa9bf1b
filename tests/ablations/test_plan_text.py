"""A plan as a person reads it: short however large it is, and nothing promised that cannot be."""

import re

import ablations
from tests.ablations.test_engine import grid


def test_the_text_tells_everything_given_or_default():
    text = ablations.plan(grid()).text()
    assert "measures: parameters, gradient_flow" in text
    assert "  initializer.std: 0.02 (default)" in text
    assert "  depth: 2 (given)" in text
    assert "  gradient_flow.batch: 2 (default)" in text


TOP = (
    "of measuring{} on one core; starting workers, examining components that are new and drawing "
    "the report come on top"
)


def told(monkeypatch, asked, rate=1e9):
    """The lines of a plan between measures and settings, on a machine of 10 GiB and that speed."""
    monkeypatch.setattr("ablations.survey.rates", lambda: (rate, 1e12))
    monkeypatch.setattr("ablations.parallel.usable_cores", lambda: 8)
    for where in ("ablations.parallel", "ablations.planning"):
        monkeypatch.setattr(f"{where}.memory_share", lambda workers: (10 << 30) // workers)
    lines = ablations.plan(asked).text().splitlines()
    (measures,) = (n for n, line in enumerate(lines) if line.startswith("measures: "))
    return lines[measures + 1 : lines.index("settings:")]


def test_numbers_that_are_equal_are_told_once_and_no_time_is_told_as_0(monkeypatch):
    asked = grid(factors={"norm": ["layernorm", "rmsnorm"]})
    parameters, computation, memory, limit, workers, hint = told(monkeypatch, asked)
    low, high = (entry.parameters for entry in reversed(list(ablations.plan(asked).cells)))
    assert parameters == f"parameters: {low:,} to {high:,}"
    assert computation.endswith(f" FLOPs (a multiply-add is 2), under a second {TOP.format('')}")
    assert memory.startswith("memory: the largest trial needs at least ")
    assert limit == "memory limit: 2.5 GiB a trial, this machine's for each of 4 workers"
    assert workers == "workers: 4 workers of 1 thread: as many as there are trials"
    assert hint.startswith("4 of 8 cores stay idle: ")
    slow = told(monkeypatch, asked, rate=1e5)[1]
    assert re.search(r" FLOPs \(a multiply-add is 2\), about \d+ min \d+ s of measuring on ", slow)
    alike = grid(factors={"activation": ["gelu", "silu"]})
    assert told(monkeypatch, alike)[0] == f"parameters: {high:,}"


def test_no_time_is_told_where_none_is_known(monkeypatch):
    asked = grid(factors={"norm": ["layernorm", "rmsnorm"]}, measures=["parameters"])
    _, computation, limit, *_ = told(monkeypatch, asked)
    assert computation == "computation: 0 FLOPs (a multiply-add is 2)"
    assert limit.startswith("memory limit: ")


def test_what_cannot_run_is_counted_without_a_time_or_advice(monkeypatch):
    huge = {"d_model": 65536, "n_heads": 64, "vocab_size": 256000, "depth": 12, "context": 16}
    asked = grid(model=huge, factors={"norm": ["layernorm", "rmsnorm"]})
    lines = told(monkeypatch, asked)
    needs = "needs at least 2.372 TiB"
    too_large = (
        f"gradient_flow {needs} of memory, more than the 10 GiB that a trial may use: use fewer "
        "workers or a larger machine, raise memory where the grid sets it, or make the model "
        "smaller"
    )
    assert [line for line in lines if not line.startswith(("parameters: ", "computation: "))] == [
        f"memory: the largest trial {needs}",
        "memory limit: 10 GiB a trial, this machine's for 1 worker",
        "too large: 4 of 4 trials cannot be measured whole",
        f"too large: norm=layernorm: {too_large}",
        f"too large: norm=rmsnorm: {too_large}",
    ]
    assert lines[1].endswith(" FLOPs (a multiply-add is 2)")


def test_the_time_is_that_of_trials_that_fit(monkeypatch):
    asked = grid(factors={"vocab_size": [64, 2_000_000_000], "norm": ["layernorm", "rmsnorm"]})
    lines = told(monkeypatch, asked)
    assert lines[1].endswith(
        f" FLOPs (a multiply-add is 2), under a second {TOP.format(' of the trials that fit')}"
    )
    assert lines[4:6] == [
        "too large: 4 of 8 trials cannot be measured whole",
        "workers: 1 worker of 1 thread: memory does not hold the largest trial even alone",
    ]


def test_the_text_of_a_large_plan_is_short_and_its_document_whole():
    asked = grid(
        factors={"vocab_size": list(range(64, 164)), "norm": ["layernorm", "rmsnorm", "none"]},
        exclude=[
            {"vocab_size": size, "norm": "none", "because": f"not {size}"} for size in range(64, 94)
        ]
        + [{"vocab_size": size, "norm": "rmsnorm", "because": "odd"} for size in range(100, 130)],
        memory="1 KiB",
    )
    planned = ablations.plan(asked)
    lines = planned.text().splitlines()
    for words, told, more in (
        ("too large: vocab_size=", 20, "too large: and 220 more; plan --json has them all"),
        ("skipped: not ", 20, None),
        ("  vocab_size=", 20, None),
        ("skipped: ", 21, "skipped: and cells for 11 more reasons; plan --json has them all"),
    ):
        assert len([line for line in lines if line.startswith(words)]) == told
        assert more is None or more in lines
    document = planned.document()
    assert len(document["skipped"]) == 60
    assert document["skipped"][0] == {"cell": "vocab_size=64 norm=none", "reason": "not 64"}
    assert len(document["memory"]["too_large"]) == 240


def test_many_cells_of_one_reason_are_told_by_their_number():
    asked = grid(
        factors={"vocab_size": list(range(64, 104)), "norm": ["layernorm", "rmsnorm"]},
        exclude=[
            {"vocab_size": size, "norm": "rmsnorm", "because": "odd"} for size in range(70, 95)
        ],
    )
    lines = ablations.plan(asked).text().splitlines()
    told = lines[lines.index("skipped: odd") + 1 :][:21]
    assert told[0] == "  vocab_size=70 norm=rmsnorm"
    assert told[19] == "  vocab_size=89 norm=rmsnorm"
    assert told[20] == "  and 5 more cells; plan --json has them all"
