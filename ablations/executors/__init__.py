"""Ways of carrying trials out; each implements `registry.Executor`."""

from ablations.executors.errors import ExecutorError, MissingMainGuard
from ablations.executors.guard import require_main_guard

__all__ = ["ExecutorError", "MissingMainGuard", "require_main_guard"]
