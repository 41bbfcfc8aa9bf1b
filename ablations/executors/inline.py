"""Carries trials out in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ablations.executors.failures import describe
from ablations.executors.threads import limited_threads
from registry.contracts import Execution, Outcome


class Inline:
    """For debuggers, notebooks and tests.

    It cannot stop a trial, nor survive one that ends the process, nor keep strangers' code apart:
    `execution.timeout`, `execution.memory` and `execution.workers` have no meaning here, and a run
    that asks for them is refused.
    """

    in_process = True

    def execute(
        self,
        trials: Iterable[Any],
        work: Callable[[Any], Any],
        execution: Execution,
    ) -> Iterator[Outcome]:
        """Yield one `Outcome` a trial, in order; KeyboardInterrupt passes through."""
        for trial in trials:
            # Around each trial, so that the consumer's own code between two is left alone.
            with limited_threads(execution.threads):
                outcome = _carry_out(work, trial)
            yield outcome


def _carry_out(work: Callable[[Any], Any], trial: Any) -> Outcome:
    try:
        return Outcome(trial=trial, result=work(trial))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a component that calls sys.exit() costs its trial alone
        message, trace = describe(error)
        return Outcome(trial=trial, state="failed", message=message, traceback=trace)
