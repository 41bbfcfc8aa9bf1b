"""Whatever stands in a grid file, `plan` works it out or refuses it in lines, in bounded time."""

import faulthandler
import re
import sys

import pytest
from hypothesis import HealthCheck, given, settings

from ablations import cli
from ablations.grids.document import dump
from tests.ablations.mutants import GRIDS, damaged, mutated

LONGEST = 1_100
"""Characters of a line: a thousand, and those that say that it is cut."""

SECONDS = 60
"""After which an example hangs, on however slow a machine: a usual one takes a tenth of one."""

LINE = re.compile(r"grid\.yaml(:\d+:\d+)?: .+|… and [\d,]+ more")
MANY = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)


@pytest.fixture
def plan(tmp_path, monkeypatch, capfd):
    """Plan a text through the command line's entry; checks what every answer is."""
    monkeypatch.chdir(tmp_path)

    def call(content):
        (tmp_path / "grid.yaml").write_bytes(content)
        faulthandler.dump_traceback_later(SECONDS, exit=True, file=sys.__stderr__)
        try:
            status = cli.run_command_line(["plan", "grid.yaml"])
        finally:
            faulthandler.cancel_dump_traceback_later()
        out, err = capfd.readouterr()
        told = err.splitlines()
        if status == 0:
            assert (out != "", told) == (True, [])
        else:
            assert (status, out) == (2, "")
            assert told, "a refusal says why"
            assert [text for text in told if not LINE.fullmatch(text)] == []
            assert max(map(len, told)) <= LONGEST
        return status

    return call


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid["name"])
def test_the_grids_that_are_mutated_are_valid(plan, grid):
    assert plan(dump(grid).encode()) == 0


@settings(MANY, max_examples=80)
@given(grid=mutated())
def test_a_mutated_grid_is_planned_or_refused(plan, grid):
    plan(dump(grid).encode("utf-8", "surrogatepass"))


@settings(MANY, max_examples=80)
@given(content=damaged())
def test_a_damaged_text_is_planned_or_refused(plan, content):
    plan(content)


@pytest.mark.long
@pytest.mark.timeout(3600)
@settings(MANY, max_examples=3000)
@given(grid=mutated())
def test_thousands_of_mutated_grids_are_planned_or_refused(plan, grid):
    plan(dump(grid).encode("utf-8", "surrogatepass"))


@pytest.mark.long
@pytest.mark.timeout(3600)
@settings(MANY, max_examples=3000)
@given(content=damaged())
def test_thousands_of_damaged_texts_are_planned_or_refused(plan, content):
    plan(content)
