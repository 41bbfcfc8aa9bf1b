"""An executor: trials in this process, the last one first."""

from registry import ExecutorSpec, Outcome, hookimpl


class Backwards:
    """Carries trials out in this process, the last one first."""

    in_process = True

    def execute(self, trials, work, execution):
        for trial in reversed(list(trials)):
            try:
                yield Outcome(trial=trial, result=work(trial))
            except Exception as error:
                yield Outcome(trial=trial, state="failed", message=repr(error))


@hookimpl
def register_executors():
    return [
        ExecutorSpec(name="backwards", target=Backwards, summary="In this process, last first.")
    ]
