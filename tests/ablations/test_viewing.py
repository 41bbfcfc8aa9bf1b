"""Which blocks of a run are looked at, as what, and what is seen of strangers' ones."""

import importlib
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import ablations
from ablations import viewing as viewing_module
from ablations.blocks import View
from ablations.decoder import Decoder
from ablations.engine import carry_out
from ablations.executors.local import Local
from ablations.models.resolution import resolve
from ablations.recipes.recipe import read_recipe, recipe_names
from ablations.sources import Sources
from ablations.viewing import CODE, LONGEST_REASON, Blocks, Viewing, view, view_of
from registry import discover
from registry.contracts import Execution, Outcome
from registry.spec import Choice
from tests.ablations.decoders import SMALL, small
from tests.ablations.test_identity import passed_through

PLUGIN = Path(__file__).parents[1] / "plugins" / "wired.py"


@pytest.fixture(scope="module")
def wired():
    """Makes an architecture of the parts in tests/plugins/wired.py."""
    document = {"name": "wired", "factors": {"norm": ["layernorm"]}, "measures": ["parameters"]}
    catalog = ablations.load_grid(document, plugins=[str(PLUGIN)]).catalog
    yield lambda **model: resolve({**SMALL, **model}, catalog)
    sys.modules.pop("wired", None)


def viewings(*architectures, device="cpu"):
    blocks = Blocks()
    for architecture in architectures:
        blocks.add(architecture)
    return blocks.viewings(Sources({}), device)


def only(*architectures, **options) -> Viewing:
    (viewing,) = viewings(*architectures, **options)
    return viewing


def parts(seen: View):
    return {of.layers: [call.part for call in of.calls] for of in seen.wirings}


PRE = ["norm", "attention", "residual", "norm", "feed_forward", "residual", "out"]
POST = ["attention", "residual", "norm", "feed_forward", "residual", "norm", "out"]


def test_each_placement_and_residual_is_a_block_once():
    found = viewings(
        *(
            small(norm=norm, placement={"layers": ["pre", "post", "pre"]})
            for norm in ("layernorm", "rmsnorm")
        )
    )
    assert [of.block for of in found] == ["pre", "post"]
    found = viewings(small(placement="post"), small(residual="none"), small())
    assert [of.block for of in found] == [
        "post, residual add", "pre, residual none", "pre, residual add",
    ]  # fmt: skip


def test_the_cell_with_the_fewest_strangers_parts_stands_for_a_block():
    theirs, less = small(norm="drawing", attention="mean"), small(norm="drawing")
    ours = small(norm="rmsnorm")
    assert only(theirs).architecture is theirs
    assert only(theirs, less).architecture is only(less, theirs).architecture is less
    viewing = only(theirs, ours, less, small())
    assert viewing.architecture.layers == ours.layers[:1]
    assert (viewing.tokens, viewing.architecture.vocab_size) == (8, 1)
    assert viewing.strangers == frozenset()


def test_a_block_of_ours_is_looked_at_without_what_is_around_it():
    mixed = small(placement={"layers": ["other_names", "pre", "pre"]}, embedding_norm="drawing")
    theirs, ours = viewings(mixed)
    assert (theirs.block, theirs.layers, theirs.strangers) == ("other_names", (0,), {"tests"})
    assert theirs.architecture is mixed
    assert (ours.block, ours.layers, ours.strangers) == ("pre", (0,), frozenset())
    assert parts(view(ours)) == {(0,): PRE}


def test_every_layer_of_a_strangers_block_is_looked_at(wired):
    viewing = only(wired(placement="mix_ln", depth=5))
    assert (viewing.layers, viewing.tokens) == ((0, 1, 2, 3, 4), SMALL["context"])
    assert viewing.strangers == {"wired"}
    assert parts(view(viewing)) == {(0, 1): POST, (2, 3, 4): PRE}


def test_what_is_seen_has_a_key_of_its_own(wired):
    keys = [
        only(architecture, device=device).key
        for architecture, device in (
            (small(), "cpu"),
            (small(), "cuda"),
            (small(norm="rmsnorm"), "cpu"),
            (small(context=8), "cpu"),
            (small(placement="post"), "cpu"),
            (wired(placement="mix_ln"), "cpu"),
            (wired(placement={"mix_ln": {"share": 0.5}}), "cpu"),
            (wired(norm="scale"), "cpu"),
        )
    ]
    assert len(set(keys)) == len(keys)
    assert only(small()).key == keys[0]


def test_an_edit_of_a_plugin_counts_for_its_blocks_alone(tmp_path, monkeypatch):
    (tmp_path / "edited_norms.py").write_text("EPS = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    norm = Choice(name="theirs", target="edited_norms:Norm")
    ours = small()
    theirs = replace(ours, layers=tuple(replace(of, norm=norm) for of in ours.layers))
    before = only(theirs).key, only(ours).key
    assert (only(theirs).key, only(ours).key) == before
    (tmp_path / "edited_norms.py").write_text("EPS = 2\n")
    assert only(theirs).key != before[0]
    assert only(ours).key == before[1]
    assert "edited_norms" not in sys.modules


def test_a_key_has_all_of_ours_that_a_pass_goes_through():
    passed = passed_through("ablations.wiring", "ablations.decoder", "ablations.initialization")
    assert passed <= {f"ablations.{module}" for module in CODE}


@pytest.mark.parametrize(
    ("part", "most", "devices"),
    [
        ({"norm": "scale"}, None, ["meta", "cpu"]),
        ({"norm": "scale"}, 1000, ["meta"]),
        ({"feed_forward": "experts"}, 1000, ["meta", "cpu"]),
    ],
)
def test_a_large_model_is_drawn_where_shapes_alone_do_not_do(
    wired, monkeypatch, part, most, devices
):
    built = []

    def noted(self, *args):
        init(self, *args)
        built.append(str(self.device))

    init = Decoder.__init__
    monkeypatch.setattr(Decoder, "__init__", noted)
    if most is not None:
        monkeypatch.setattr(viewing_module, "MOST_VALUES", most)
    assert parts(view(only(wired(**part)))) == {(0, 1, 2): PRE}
    assert built == devices


def test_a_pass_with_values_runs_where_trials_do(wired, monkeypatch):
    moved = []
    monkeypatch.setattr(Decoder, "to", lambda self, device: moved.append(device) or self)
    view(only(wired(feed_forward="experts"), device="cuda:1"))
    assert moved == ["cuda:1"]


def test_a_block_is_seen_as_trials_evaluate_it(monkeypatch):
    monkeypatch.setattr(
        "components.placements.Pre.forward",
        lambda self, x, **_mixing: x * 1 if self.training else self.attention_norm(x),
    )
    assert parts(view(only(small()))) == {(0,): ["norm", "out"]}


def test_what_a_part_draws_leaves_the_process_as_it_was(monkeypatch):
    drawn = []

    def draw(_self, x):
        drawn.append(float(torch.rand(())))
        return x * drawn[-1]

    monkeypatch.setattr("components.norms.LayerNorm.forward", draw)
    before, viewing = torch.get_rng_state(), only(small())
    assert view(viewing) == view(viewing)
    assert torch.equal(before, torch.get_rng_state())
    assert drawn[:2] == drawn[2:]


def test_what_a_block_raises_with_values_is_raised(wired):
    with pytest.raises(RuntimeError, match=r"^not\ntoday$"):
        view(only(wired(placement="raising")))


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ({"state": "failed", "message": "RuntimeError: not\n  today"}, "RuntimeError: not today"),
        ({"state": "crashed", "message": "died"}, "died"),
        ({"state": "timeout"}, "timeout"),
        ({"state": "failed", "message": "\x1b[2J \ud800"}, "\\x1b[2J \\ud800"),
    ],
)
def test_a_block_that_ends_its_viewing_is_not_seen_and_why(outcome, reason):
    assert view_of(Outcome(trial=None, **outcome)) == View(reason=reason)


def test_a_reason_is_a_line_of_bounded_length():
    told = view_of(Outcome(trial=None, state="failed", message="x" * 10_000)).reason
    assert len(told) == LONGEST_REASON
    assert told.endswith("(10,000 characters)")


def test_what_was_seen_is_what_comes_of_it():
    seen = view(only(small()))
    assert view_of(Outcome(trial=None, result=seen)) is seen


def test_workers_see_blocks_and_tell_of_those_that_end_them(wired):
    names = ("raising", "mix_ln", "bare", "ending")
    asked = viewings(small(), *(wired(placement=name) for name in names))
    found = {
        outcome.trial.block: view_of(outcome)
        for outcome in Local().execute(iter(asked), carry_out, Execution())
    }
    assert {name: seen.reason for name, seen in found.items() if seen.reason} == {
        "raising": "RuntimeError: not today",
        "ending": "its worker process ended with exit code 3",
    }
    assert parts(found["mix_ln"]) == {(0,): POST, (1, 2): PRE}
    assert parts(found["bare"]) == {(0, 1, 2): ["norm", "attention", "norm", "feed_forward", "out"]}
    assert parts(found["pre"]) == {(0,): PRE}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("placement", "limit", "reason"),
    [
        ("hanging", {"timeout": 2.0}, r"stopped after its time limit of 2 s"),
        (
            "hoarding",
            {"memory": 2**30},
            r"stopped as it used \S+ (MiB|GiB) of memory, over its limit of 1 GiB",
        ),
    ],
)
def test_a_block_has_the_limits_of_a_trial(wired, placement, limit, reason):
    asked = [only(wired(placement=placement))]
    (outcome,) = Local().execute(iter(asked), carry_out, Execution(**limit))
    assert re.fullmatch(reason, view_of(outcome).reason)


@pytest.mark.parametrize("name", recipe_names())
def test_blocks_of_published_models_are_seen_whatever_their_size(name):
    architecture = resolve(read_recipe(name).model, discover())
    (wiring,) = view(only(architecture)).wirings
    kinds = [call.part for call in wiring.calls]
    assert kinds.count("attention") == kinds.count("feed_forward") == 1
    assert kinds.count("residual") == 2
    assert wiring.calls[-1].inputs == (len(kinds) - 1,)
