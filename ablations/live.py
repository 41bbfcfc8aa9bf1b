"""The report of a run that goes on, made anew when there is more to tell."""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from ablations.rendering import Renderer, RenderingFailed
from ablations.storage.errors import StoreError
from ablations.storage.overview import Overview
from ablations.storage.schema import FILE, JOURNALS
from ablations.store import Store

EVERY = 3.0
"""Seconds from one look at the run directory to the next."""

SHARE = 4.0
"""A page is not made again before so many times as long as it took have gone by."""

Stamp = tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page that was made, with what a browser knows it by."""

    content: bytes
    tag: str


class Live:
    """What can be told of a run directory, kept current by a thread of its own.

    Nothing in the directory is written to. `start` begins, `close` ends it.
    """

    def __init__(self, directory: Path, *, every: float = EVERY) -> None:
        self.directory = directory
        self._every = every
        self._renderer = Renderer(directory)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="live", daemon=True)
        self._page: Page | None = None
        self._error = ""
        self._seen: Stamp = ()

    @property
    def current(self) -> bool:
        """Whether the newest page tells all that is in the directory."""
        return self._seen == self._stamp()

    @property
    def page(self) -> Page | None:
        """The newest page; None before the first."""
        return self._page

    @property
    def error(self) -> str:
        """Why the newest page could not be made, or nothing."""
        return self._error

    def overview(self) -> Overview:
        """How far the run got, as it is now. Raises: StoreError."""
        with Store.open_readonly(self.directory, whole=False) as store:
            return store.overview()

    def start(self) -> None:
        """Begin to follow the run."""
        self._thread.start()

    def close(self) -> None:
        """End, also while a page is made."""
        self._ended.set()
        self._renderer.close()
        if self._thread.ident is not None:
            self._thread.join()

    def _follow(self) -> None:
        wait = 0.0
        while not self._ended.wait(wait):
            wait = self._every
            stamp = self._stamp()
            if stamp == self._seen:
                continue
            began = time.monotonic()
            if self._make():
                self._seen = stamp  # what was written since is seen at the next look
            wait = max(self._every, SHARE * (time.monotonic() - began))

    def _make(self) -> bool:
        """Make a page; whether that was possible."""
        try:
            content = self._renderer.page()
        except RenderingFailed as error:
            self._error = str(error)
            return False
        self._page = Page(content=content, tag=hashlib.sha256(content).hexdigest()[:32])
        self._error = ""
        return True

    def _stamp(self) -> Stamp:
        """What changes with whatever is written to the store."""
        found = []
        for ending in ("", *JOURNALS):
            try:
                status = (self.directory / f"{FILE}{ending}").stat()
            except OSError:
                continue
            found.append((status.st_mtime_ns, status.st_size))
        return tuple(found)


def progress(live: Live) -> dict[str, object]:
    """How far a run got, as a JSON document."""
    try:
        overview = live.overview()
    except StoreError as error:
        return {"error": str(error)}
    return {
        "name": overview.name,
        "cells": overview.n_cells,
        "trials": overview.n_trials,
        "states": dict(overview.states),
        "page": "current" if live.current else "older" if live.page else "none",
        "error": live.error,
    }
