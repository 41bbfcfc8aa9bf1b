"""Reports made in a process of their own, so that whoever asks for one meanwhile need not wait."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

POLITE = 10
"""By how much the process gives way to a run that goes on beside it."""

_CODE = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from ablations.rendering import main
sys.exit(main(sys.argv[2]))
"""


class RenderingFailed(Exception):
    """A page could not be made; the message is a line."""


class Renderer:
    """Makes the report of a run directory, each time in a new process.

    One thread at a time may use it; `close`, from any, ends what is at work, and the renderer.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._guard = threading.Lock()
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None

    def page(self) -> bytes:
        """The report of the run as it is now.

        Raises: RenderingFailed.
        """
        with self._guard:
            if self._closed:
                raise RenderingFailed("nothing is made any more")
            # In a session of its own: Ctrl-C is for who started it.
            process = self._process = subprocess.Popen(  # noqa: S603 - our own code
                [sys.executable, "-P", "-c", _CODE, json.dumps(sys.path), str(self.directory)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        content, told = process.communicate()
        with self._guard:
            self._process = None
        if process.returncode:
            last = told.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise RenderingFailed(last or f"it ended with status {process.returncode}")
        return content

    def close(self) -> None:
        """End the process, if there is one; no other is started."""
        with self._guard:
            self._closed = True
            if self._process is not None:
                self._process.kill()


def main(directory: str) -> int:
    """Print the report of a run; 3, and a line on stderr, where there is none."""
    from ablations.library import open_run
    from ablations.printable import line
    from ablations.storage.errors import StoreError
    from reports.page import render

    with contextlib.suppress(OSError):
        os.nice(POLITE)
    try:
        page = render(open_run(directory).frames())
    except StoreError as error:
        print(line(str(error)), file=sys.stderr)
        return 3
    sys.stdout.buffer.write(page.encode("utf-8", "backslashreplace"))
    return 0
