"""A placebo carried out: the first stream is the grid's own, the second differs in draws alone."""

import pytest

import ablations
from ablations import engine
from tests.ablations.test_engine import grid, strange_catalog, values

EVERYTHING_DRAWS = {
    "factors": {"norm": ["layernorm", "dicing"], "position": ["learned", "rope"]},
    "placebo": True,
}


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    monkeypatch.setattr(engine, "write_report", lambda out: out / "report.html")


@pytest.fixture(scope="module")
def catalog():
    return strange_catalog()


@pytest.fixture(scope="module")
def carried_out(catalog, tmp_path_factory):
    """A grid with its placebo, inline, whose components also draw from global generators."""
    out = tmp_path_factory.mktemp("placebo") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "write_report", lambda out: out / "report.html")
        asked = grid(catalog, **EVERYTHING_DRAWS)
        summary = ablations.run(asked, out, executor="inline", catalog=catalog)
    assert summary.states == {"done": 16}
    return out


def split(out):
    """Everything measured of each stream, by the other levels, seed, name and position."""
    cells = ablations.open_run(out).frames().cells.set_index("cell")
    found = {"first": {}, "second": {}}
    for (cell, *key), value in values(out).items():
        row = cells.loc[cell]
        found[row["placebo"]][(row["norm"], row["position"], *key)] = value
    return found["first"], found["second"]


def test_the_first_is_bit_identical_to_a_run_without(carried_out, catalog, tmp_path):
    alone = grid(catalog, **{**EVERYTHING_DRAWS, "placebo": False})
    ablations.run(alone, tmp_path, executor="inline", catalog=catalog)
    plain, found = values(tmp_path), values(carried_out)
    assert len(found) == 2 * len(plain) > 100
    assert {key: found[key] for key in plain} == plain


def test_the_second_differs_in_all_that_is_drawn_and_in_nothing_else(carried_out):
    first, second = split(carried_out)
    assert first.keys() == second.keys()
    counts = [key for key in first if key[3].startswith("parameters.")]
    drawn = [
        key for key in first if key[3].startswith(("gradient_flow.loss", "gradient_flow.embed"))
    ]
    assert len(counts) > 50
    assert len(drawn) == 4 * 2 * 3
    assert all(first[key] == second[key] for key in counts)
    assert all(first[key] != second[key] for key in drawn)


def test_the_seeds_are_the_grid_s_and_each_has_a_second_stream_of_its_own(carried_out):
    frames = ablations.open_run(carried_out).frames()
    assert set(frames.trials["seed"]) == {0, 1}
    _, second = split(carried_out)
    losses = {value for key, value in second.items() if key[3] == "gradient_flow.loss"}
    assert len(losses) == 8


def test_frames_tell_it_as_a_factor(carried_out):
    frames = ablations.open_run(carried_out).frames()
    rows = frames.factors[frames.factors["factor"] == "placebo"]
    assert rows[["level", "position", "baseline"]].to_numpy().tolist() == [
        ["first", 0, True],
        ["second", 1, False],
    ]
    assert sorted(frames.cells["placebo"]) == ["first"] * 4 + ["second"] * 4
    assert frames.settings.query("key == 'placebo'")["value"].tolist() == ["true"]


@pytest.mark.slow
def test_workers_leave_every_bit(carried_out, catalog, tmp_path):
    asked = grid(catalog, **EVERYTHING_DRAWS, seeds=[1, 0])
    ablations.run(asked, tmp_path, workers=2, catalog=catalog)
    assert values(tmp_path) == values(carried_out)


def test_results_are_shared_with_a_grid_without(tmp_path):
    ablations.run(grid(), tmp_path, executor="inline")
    summary = ablations.run(grid(placebo=True), tmp_path, executor="inline")
    assert (summary.trials, summary.reused, summary.states) == (16, 8, {"done": 8})
    back = ablations.run(grid(), tmp_path, executor="inline")
    assert (back.trials, back.reused) == (8, 8)


def test_one_factor_beside_it_is_enough(tmp_path):
    planned = ablations.plan(grid(factors={"norm": ["layernorm", "rmsnorm"]}, placebo=True))
    assert (len(planned.cells), planned.trials) == (4, 8)
    text = planned.text()
    assert text.startswith("small: 4 cells × 2 seeds, 8 trials\n")
    assert "\n  placebo: first (baseline), second\n" in text
    assert "\n  placebo: true (given)" in text
    document = planned.document()
    assert (document["cells"], document["trials"], document["skipped"]) == (4, 8, [])
    pair = planned.cells[0], planned.cells[1]
    assert pair[0].parameters == pair[1].parameters
