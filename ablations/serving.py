"""A run shown live in a browser of this machine: read-only, on the loopback interface alone."""

from __future__ import annotations

import errno
import json
import logging
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ablations.live import Live, progress
from ablations.printable import json_safe
from ablations.storage.errors import StoreError
from reports.live_page import live_page, served_policy

HOST = "127.0.0.1"
PORT = 8000
REFRESH = 5
"""Seconds after which a browser asks again, as long as trials are to come."""

log = logging.getLogger(__name__)


class PortTaken(OSError):
    """Another program listens there."""


class Server(ThreadingHTTPServer):
    """Answers for one run directory until it is closed; nothing else is ever read or written.

    Raises: PortTaken; NoRun.
    """

    daemon_threads = True

    def __init__(self, directory: Path, port: int = PORT) -> None:
        self.live = Live(directory)
        self.live.overview()  # a run to show, before anything is begun
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            why = "is taken" if error.errno == errno.EADDRINUSE else "is not for this user"
            raise PortTaken(f"port {port} of {HOST} {why}: give another with --port") from error
        self.policy = served_policy()
        self.live.start()

    @property
    def address(self) -> str:
        """Where to look."""
        return f"http://{HOST}:{self.server_port}/"

    @property
    def hosts(self) -> frozenset[str]:
        """The names under which a request may ask: a stranger's name that leads here is none."""
        names = (HOST, "localhost")
        bare = names if self.server_port == 80 else ()
        return frozenset([*(f"{name}:{self.server_port}" for name in names), *bare])

    def server_close(self) -> None:
        """End, with all that was started."""
        super().server_close()
        self.live.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away."""
        log.debug("a request was not answered", exc_info=True)


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD of `/` and `/progress.json`."""

    server: Server
    timeout = 10  # a request that does not come to its end holds nothing for longer

    def do_GET(self) -> None:
        """A page or a document."""
        self._answer()

    def do_HEAD(self) -> None:
        """The same without its content."""
        self._answer()

    def parse_request(self) -> bool:
        """Whether there is a request to answer; one by any other method is refused."""
        if not super().parse_request():
            return False
        if self.command in ("GET", "HEAD"):
            return True
        text = b"only GET and HEAD\n"
        self._send(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", text, {"Allow": "GET, HEAD"})
        return False

    def _answer(self) -> None:
        if self.headers.get_all("Host") not in [[host] for host in self.server.hosts]:
            text = f"this is {self.server.address} and answers to no other name\n"
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", text.encode())
        elif self.path == "/progress.json":
            document = json_safe(json.dumps(progress(self.server.live), ensure_ascii=False))
            self._send(HTTPStatus.OK, "application/json", f"{document}\n".encode())
        elif self.path == "/":
            self._page()
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"there are / and /progress.json\n")

    def _page(self) -> None:
        live = self.server.live
        page = live.page
        try:
            overview = live.overview()
        except StoreError as error:
            content = live_page("No results", [str(error)])
            self._send(HTTPStatus.OK, "text/html", content.encode(), {"Refresh": str(REFRESH)})
            return
        states = ", ".join(f"{n:,} {state}" for state, n in overview.states.items())
        if page is None:
            told = [f"{overview.n_trials:,} trials: {states}.", "The report is being made."]
            content = live_page(overview.name, [*told, *filter(None, [live.error])])
            self._send(HTTPStatus.OK, "text/html", content.encode(), {"Refresh": "2"})
            return
        over = live.current and not overview.n_missing
        refresh = {} if over else {"Refresh": str(REFRESH)}
        tag = f'"{page.tag}"'
        if self.headers.get("If-None-Match") == tag:
            self._send(HTTPStatus.NOT_MODIFIED, "", b"", {"ETag": tag, **refresh})
        else:
            self._send(HTTPStatus.OK, "text/html", page.content, {"ETag": tag, **refresh})

    def _send(
        self, status: HTTPStatus, kind: str, content: bytes, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
        for name, value in {
            "Content-Security-Policy": self.server.policy,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-cache",
            **(more or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def version_string(self) -> str:
        """Who answers, without versions."""
        return "ablations"

    def log_message(self, format: str, *args: Any) -> None:
        """Not on stderr, where it would bury what is said there."""
        log.debug(format, *args)
