"""A Ray whose actors answer as they are told to, or never; nothing is started."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

NEVER = object()


class Ref:
    """What a call is going to come to."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer


class FakeRay:
    """`answers` gives, by a method's name, what each call of it in turn comes to."""

    def __init__(self, **answers: Sequence[Any]) -> None:
        self.answers = {name: list(given) for name, given in answers.items()}
        self.killed = 0
        self.alive = {"n" * 56}
        self.exceptions = SimpleNamespace(
            RayError=RayError, RayTaskError=RayTaskError, ActorUnavailableError=Unavailable
        )

        self.head = ""
        """The address of the cluster's head; without one it is reached through Ray's client."""
        self.listed = 0
        """How often nodes were asked for."""
        client = SimpleNamespace(is_connected=lambda: not self.head)
        self.util = SimpleNamespace(client=SimpleNamespace(ray=client))

    def remote(self, cls: type) -> Any:
        made = SimpleNamespace(remote=self._new)
        return SimpleNamespace(options=lambda **options: made)

    def _new(self) -> Any:
        return SimpleNamespace(
            **{name: self._method(name) for name in ("begin", "carry_out", "stop")}
        )

    def _method(self, name: str) -> Any:
        def call(*arguments: Any) -> object:
            given = self.answers.get(name) or [NEVER]
            return Ref(given.pop(0))

        return SimpleNamespace(remote=call)

    def get(self, ref: Any) -> Any:
        if isinstance(ref.answer, Exception):
            raise ref.answer
        return ref.answer

    def wait(self, refs: list[Any], *, num_returns: int, timeout: float) -> Any:
        ready = [ref for ref in refs if ref.answer is not NEVER][:num_returns]
        return ready, [ref for ref in refs if ref not in ready]

    def kill(self, actor: Any) -> None:
        self.killed += 1

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(gcs_address=self.head)

    def nodes(self) -> list[dict[str, Any]]:
        self.listed += 1
        return [
            {
                "NodeID": "n" * 56,
                "NodeManagerAddress": "10.0.0.2",
                "Alive": "n" * 56 in self.alive,
                "Resources": {"CPU": 4.0},
            }
        ]


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class Unavailable(RayError):
    pass
