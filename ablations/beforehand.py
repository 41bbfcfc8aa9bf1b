"""What workers find out beside a run's trials: whether components keep their contracts, and how
blocks are wired."""

from __future__ import annotations

from collections.abc import Mapping

from ablations.conformity import Cache, Conformity
from ablations.examining import Examination, conformity_of
from ablations.log import RunLog
from ablations.storage.plan import RunPlan
from ablations.store import Store
from ablations.strangers import by_strangers
from ablations.viewing import Viewing, view_of
from registry.contracts import Outcome


class Beforehand:
    """What a run finds out before its trials, each once a version, and where that is kept.

    Examinations are kept for other runs too. A block that went unseen is looked at again where
    trials that failed are tried again.
    """

    def __init__(self, recorded: RunPlan, store: Store, log: RunLog) -> None:
        self._recorded = recorded
        self._store = store
        self._log = log
        self._cache = Cache()

    def waiting(self, *, retry_failed: bool) -> list[Examination | Viewing]:
        """What is yet to be found out, tasks that run the same strangers' code together."""
        unknown = sorted(self._recorded.examinations.keys() - self._store.conformities().keys())
        cached = dict(self._cache.found(unknown))
        self._store.keep_conformities(cached)
        seen = {
            key for key, view in self._store.views().items() if not (view.reason and retry_failed)
        }
        waiting: list[Examination | Viewing] = [
            *(self._recorded.examinations[key] for key in unknown if key not in cached),
            *(viewing for key, viewing in self._recorded.viewings.items() if key not in seen),
        ]
        return sorted(waiting, key=by_strangers)

    def keep(self, outcome: Outcome) -> None:
        """Keep what came of one of them."""
        task: Examination | Viewing = outcome.trial
        if isinstance(task, Examination):
            conformity = conformity_of(outcome)
            self._store.keep_conformities({task.key: conformity})
            self._cache.keep(task.key, conformity)
            return
        view = view_of(outcome)
        self._store.keep_views({task.key: view})
        if view.reason:
            self._log.warn(
                "block not drawn",
                block=task.block,
                message=outcome.message,
                traceback=outcome.traceback,
            )

    def faulty(self) -> dict[str, str]:
        """Components that read the future or break a contract of their kind, and how."""
        known: Mapping[str, Conformity] = self._store.conformities()
        found = {
            f"{examination.kind} {examination.choice.label}": known[key]
            for key, examination in self._recorded.examinations.items()
            if key in known
        }
        return {name: c.text for name, c in sorted(found.items()) if c.leaks or not c.passed}
