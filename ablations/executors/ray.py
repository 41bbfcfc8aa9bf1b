"""Carries trials out on the nodes of a Ray cluster."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from types import ModuleType
from typing import Annotated, Any

from annotated_types import Ge, Gt

from ablations.executors.cluster.carrying import Carrying
from ablations.executors.cluster.connection import Demand, capacity, in_words, joined, taken
from ablations.executors.cluster.keeper import Packing, Setup
from ablations.executors.cluster.needs import SCRIPT, lacking, needs_of
from ablations.executors.cluster.slots import Shares
from ablations.executors.errors import ExecutorError
from ablations.executors.local import pickled_work
from registry.contracts import Execution, Outcome

PASSED_ON = ("ABLATIONS_CHECKPOINT_SECONDS", "ABLATIONS_WEIGHT_BANK")
"""Variables that trials read."""


class Ray:
    """Trials on the nodes of a cluster, each in a process like those of the local executor.

    A trial takes of a node `cpus` (by default as many as it has threads), `gpus` (one, where the
    grid asks for cuda, else none) and what the grid says of memory. So many run at a time as fit
    into the cluster when the run starts, or `in_flight`; what does not fit waits for room. A trial
    that was lost with its node, or with Ray's part of it, is run again elsewhere, `retries` times;
    one that raises, dies or hangs is not. `address` is that of the cluster: `auto` for the one that
    this machine belongs to, `HOST:PORT` for one whose nodes reach it, `ray://HOST:PORT` for one
    whose nodes do not, `local` for one of its own.
    """

    elsewhere = True

    def __init__(
        self,
        *,
        address: str = "auto",
        cpus: Annotated[float, Gt(0)] | None = None,
        gpus: Annotated[float, Ge(0)] | None = None,
        in_flight: Annotated[int, Ge(1)] | None = None,
        retries: Annotated[int, Ge(0)] = 3,
    ) -> None:
        self._address = address
        self._cpus = cpus
        self._gpus = gpus
        self._in_flight = in_flight
        self._retries = retries
        self._joined = contextlib.ExitStack()
        self._ray: ModuleType | None = None
        self._tell: Callable[[str], object] = lambda told: None
        self._device = ""
        self._where: Mapping[str, str] = {}

    def follow(self, tell: Callable[[str], object]) -> None:
        """Have nodes that come and go told, a line each."""
        self._tell = tell

    def workers(self, execution: Execution, device: str) -> int:
        """How many trials run at a time where nobody says. Raises: ExecutorError; MissingExtra."""
        self._device = device
        if self._in_flight is not None:
            return self._in_flight
        ray = self._join()
        demand = self._demand(execution)
        fit = capacity(ray, demand)
        if not fit:
            self._joined.close()
            raise ExecutorError(
                f"no node has room for a trial, which takes {taken(demand)}; the cluster has "
                f"{in_words(ray)}. For one that grows when asked, say how many trials to run at a "
                "time (--workers)"
            )
        return fit

    def where(self, execution: Execution, device: str) -> Mapping[str, str]:
        """What bends bits on the nodes: the first that has room is asked, and speaks for all.

        Raises: ExecutorError; MissingExtra.
        """
        self._device = device
        shares = self._shares(_nothing, replace(execution, timeout=None))
        with contextlib.ExitStack() as left_if_it_fails:
            left_if_it_fails.push(self._joined)
            run = Carrying(self._join(), shares, 1, self._retries, self._tell)
            self._where = run.where()
            left_if_it_fails.pop_all()
        return self._where

    def execute(
        self,
        trials: Iterable[Any],
        work: Callable[[Any], Any],
        execution: Execution,
    ) -> Iterator[Outcome]:
        """Yield one `Outcome` a trial as it ends; one trial a slot is taken at a time.

        Raises: ExecutorError if `work` cannot be pickled, where no cluster is to be joined, when a
        node lacks what trials need, or when none can be used; MissingExtra without Ray.
        """
        if execution.workers < 1:
            raise ExecutorError(f"at least 1 worker is needed, not {execution.workers}")
        pickled_work(work)
        if getattr(work, "__module__", "") == SCRIPT:
            raise ExecutorError(f"nodes lack {', '.join(lacking(needs_of([SCRIPT])))}")
        shares = self._shares(work, execution)
        with self._joined:
            ray = self._join()
            run = Carrying(ray, shares, execution.workers, self._retries, self._tell)
            with contextlib.closing(run.carry_out(trials)) as outcomes:
                yield from outcomes

    def _shares(self, work: Callable[[Any], Any], execution: Execution) -> Shares:
        own = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        setup = Setup(
            work=pickle.dumps(Packing(work=work)),
            threads=execution.threads,
            timeout=execution.timeout,
            memory=execution.memory,
            needs=tuple(needs_of()),
            device=self._device,
            environment=own,
        )
        return Shares(
            version=version("ablations"),
            setup=pickle.dumps(setup),
            demand=self._demand(execution),
            timeout=execution.timeout,
            where=self._where,
        )

    def _join(self) -> ModuleType:
        if self._ray is None:
            self._ray = self._joined.enter_context(joined(self._address))
            self._joined.callback(self._left)
        return self._ray

    def _left(self) -> None:
        self._ray = None

    def _demand(self, execution: Execution) -> Demand:
        by_default = 1.0 if self._device == "cuda" else 0.0
        return {
            "CPU": self._cpus or execution.threads,
            "GPU": by_default if self._gpus is None else self._gpus,
            "memory": execution.memory or 0,
        }


def _nothing(trial: Any) -> None:
    """A work for nodes that are only asked what they are."""
