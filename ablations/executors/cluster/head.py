"""The process of a cluster that knows its nodes: whether it is still there.

Ray ends the process that has joined a cluster, and all it was about to do, a minute after its head
is gone. It is looked for here, so that the run ends sooner and says why.
"""

from __future__ import annotations

import socket
import time
from types import ModuleType

from ablations.executors.errors import ExecutorError

LOOK_SECONDS = 5.0
"""How often it is looked for, and how long it is given to answer."""

GONE_SECONDS = 30.0
"""For how long nobody has to answer; a head that is started again takes less."""


class Lost(ExecutorError):
    """The cluster is gone: nothing that needs it may be called any more."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the Ray cluster is lost ({' '.join(why.split())}); the trials left have not been run"
        )


class Head:
    """Where a cluster's head listens; nobody looks through Ray's client, which itself says so."""

    def __init__(self, ray: ModuleType) -> None:
        through_client = ray.util.client.ray.is_connected()
        self._address = "" if through_client else ray.get_runtime_context().gcs_address
        self._looked = time.monotonic()
        self._missed: float | None = None
        """When it was first looked for in vain."""

    def look(self) -> None:
        """Look for it now and then. Raises: Lost where nobody has answered for long."""
        if self._address and time.monotonic() - self._looked > LOOK_SECONDS:
            self._answers()

    def wait(self) -> None:
        """Return once it answers. Raises: Lost where nobody does for long."""
        while self._address and not self._answers():
            time.sleep(1.0)

    def _answers(self) -> bool:
        host, _, port = self._address.rpartition(":")
        self._looked = time.monotonic()
        try:
            socket.create_connection((host.strip("[]"), int(port)), LOOK_SECONDS).close()
        except OSError as error:
            if self._missed is None:
                self._missed = self._looked
            if self._looked - self._missed > GONE_SECONDS:
                raise Lost(f"nobody answers at {self._address}: {error}") from error
            return False
        self._missed = None
        return True
