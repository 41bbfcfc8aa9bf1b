"""A report made in a process of its own."""

import threading
import time
from pathlib import Path

import pytest

from ablations.rendering import Renderer, RenderingFailed
from ablations.store import Store
from tests.ablations.stores import result


def test_a_page_is_the_report_of_the_run_and_nothing_is_written(store: Store) -> None:
    store.record(result("a", 7, metrics={"flow.ratio": 1.0}))
    before = {path.name for path in store.directory.iterdir()}
    page = Renderer(store.directory).page().decode("utf-8")
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert "<h1>norms</h1>" in page
    assert "Unfinished: 3 of 6 trials are still to be run." in page
    assert {path.name for path in store.directory.iterdir()} == before


def test_a_run_that_cannot_be_read_is_said_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(RenderingFailed) as raised:
        Renderer(tmp_path).page()
    assert str(raised.value) == f"{tmp_path} holds no run: there is no results.sqlite"


def test_what_is_at_work_is_ended_and_nothing_else_is_begun(store: Store) -> None:
    renderer = Renderer(store.directory)
    failed: list[str] = []

    def make() -> None:
        try:
            renderer.page()
        except RenderingFailed as error:
            failed.append(str(error))

    thread = threading.Thread(target=make)
    thread.start()
    while renderer._process is None:
        time.sleep(0.01)
    renderer.close()
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert len(failed) == 1
    with pytest.raises(RenderingFailed, match=r"^nothing is made any more$"):
        renderer.page()
