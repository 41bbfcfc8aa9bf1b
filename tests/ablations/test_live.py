"""The report of a run that goes on: made anew when there is more, and by nobody who asks."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ablations import live as module
from ablations.live import Live, progress
from ablations.rendering import RenderingFailed
from ablations.store import Store
from tests.ablations.stores import result


class Stub:
    """In the place of a renderer: counts, and waits or fails as it is told."""

    def __init__(self, directory: Path) -> None:
        self.made = 0
        self.fails = ""
        self.goes_on = threading.Event()
        self.goes_on.set()

    def page(self) -> bytes:
        assert self.goes_on.wait(60)
        if self.fails:
            raise RenderingFailed(self.fails)
        self.made += 1
        return f"page {self.made}".encode()

    def close(self) -> None:
        self.goes_on.set()


@pytest.fixture
def live(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    monkeypatch.setattr(module, "Renderer", Stub)
    live = Live(store.directory, every=0.02)
    yield live
    live.close()


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another thread does; the test's own time limit ends what never comes."""
    while not holds():
        time.sleep(0.01)


def stub(live: Live) -> Stub:
    found = live._renderer
    assert isinstance(found, Stub)
    return found


def test_a_page_is_made_once_and_again_when_results_come_in(live: Live, store: Store) -> None:
    assert live.page is None
    live.start()
    until(lambda: live.current)
    first = live.page
    assert first is not None
    assert first.content == b"page 1"
    time.sleep(0.2)  # many looks
    assert stub(live).made == 1
    stub(live).goes_on.clear()
    store.record(result("a", 7))
    assert not live.current
    stub(live).goes_on.set()
    until(lambda: live.current)
    second = live.page
    assert second is not None
    assert second.content == b"page 2"
    assert second.tag != first.tag


def test_what_comes_in_while_a_page_is_made_makes_another(live: Live, store: Store) -> None:
    stub(live).goes_on.clear()
    live.start()
    time.sleep(0.1)
    store.record(result("a", 7))
    stub(live).goes_on.set()
    until(lambda: live.current)
    assert stub(live).made == 2


def test_progress_is_told_while_a_page_is_made(live: Live, store: Store) -> None:
    stub(live).goes_on.clear()
    live.start()
    store.record(result("a", 7))
    assert progress(live) == {
        "name": "norms",
        "cells": 3,
        "trials": 6,
        "states": {"done": 1, "missing": 3, "skipped": 2},
        "page": "none",
        "error": "",
    }


def test_a_page_that_cannot_be_made_is_tried_again_and_told(live: Live, store: Store) -> None:
    stub(live).fails = "no"
    live.start()
    until(lambda: live.error == "no")
    assert live.page is None
    assert not live.current
    stub(live).fails = ""
    until(lambda: live.current)
    assert live.error == ""
    assert progress(live)["page"] == "current"


def test_a_directory_that_is_gone_is_told(live: Live, store: Store) -> None:
    store.close()
    store.path.unlink()
    assert progress(live) == {
        "error": f"{store.directory} holds no run: there is no results.sqlite"
    }


def test_it_ends_while_a_page_is_made(live: Live) -> None:
    stub(live).goes_on.clear()
    live.start()
    live.close()
    assert not live._thread.is_alive()


def test_one_that_was_not_started_ends_too(live: Live) -> None:
    live.close()
    assert not live._thread.is_alive()
