"""A run in a browser: who may ask for what, and how it ends."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ablations import cli
from ablations import live as live_module
from ablations.serving import PortTaken, Server
from ablations.store import NoRun, Store
from tests.ablations.stores import result
from tests.ablations.test_live import Stub, until
from tests.reports.test_page import Page


@pytest.fixture
def server(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(live_module, "Renderer", Stub)
    monkeypatch.setattr(live_module.Live.__init__, "__kwdefaults__", {"every": 0.02})
    with Server(store.directory, 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(
    server: Server, path: str = "/", method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response, content


def test_the_page_is_the_report_and_asks_again_while_trials_are_to_come(
    server: Server, store: Store
) -> None:
    until(lambda: server.live.current)
    response, content = ask(server)
    assert (response.status, content) == (200, b"page 1")
    assert response.getheader("Refresh") == "5"
    tag = response.getheader("ETag") or ""
    again, nothing = ask(server, **{"If-None-Match": tag})
    assert (again.status, nothing, again.getheader("ETag")) == (304, b"", tag)
    for cell in ("a", "b"):
        for seed in (7, 3):
            store.record(result(cell, seed))
    until(lambda: server.live.current)
    over, content = ask(server, **{"If-None-Match": tag})
    assert over.status == 200
    assert content != b"page 1"
    assert over.getheader("Refresh") is None


def test_a_page_that_does_not_tell_all_yet_asks_again(server: Server, store: Store) -> None:
    until(lambda: server.live.current)
    renderer = server.live._renderer
    assert isinstance(renderer, Stub)
    renderer.goes_on.clear()
    for cell in ("a", "b"):
        for seed in (7, 3):
            store.record(result(cell, seed))
    response, content = ask(server)
    assert (content, response.getheader("Refresh")) == (b"page 1", "5")
    renderer.goes_on.set()


def test_before_the_first_page_it_says_how_far_the_run_got(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Stub):
        def page(self) -> bytes:
            self.goes_on.clear()
            return super().page()

    monkeypatch.setattr(live_module, "Renderer", Slow)
    with Server(store.directory, 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        response, content = ask(server)
        page = Page(content.decode())
        assert response.getheader("Refresh") == "2"
        assert page.text["h1"] == ["norms"]
        assert page.text["p"] == ["6 trials: 4 missing, 2 skipped.", "The report is being made."]
        server.shutdown()
        thread.join()


def test_progress_is_a_document(server: Server) -> None:
    until(lambda: server.live.current)
    response, content = ask(server, "/progress.json")
    assert response.getheader("Content-Type") == "application/json; charset=utf-8"
    assert json.loads(content) == {
        "name": "norms",
        "cells": 3,
        "trials": 6,
        "states": {"missing": 4, "skipped": 2},
        "page": "current",
        "error": "",
    }


@pytest.mark.parametrize("path", ["/", "/progress.json", "/nothing"])
def test_every_answer_has_the_policy(server: Server, path: str) -> None:
    response, _ = ask(server, path)
    policy = response.getheader("Content-Security-Policy") or ""
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert policy.endswith("; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    assert re.search(r"; script-src 'sha256-[A-Za-z0-9+/=]{44}'; base-uri", policy)
    assert response.getheader("X-Content-Type-Options") == "nosniff"
    assert response.getheader("Cache-Control") == "no-cache"
    assert response.getheader("Server") == "ablations"
    assert response.getheader("Access-Control-Allow-Origin") is None


def test_the_policy_allows_what_the_report_s_own_does(server: Server, store: Store) -> None:
    from reports.page import render

    policy = server.policy
    page = Page(render(store.frames()))
    (own,) = [m["content"] for m in page.named("meta") if m.get("http-equiv")]
    assert policy == f"{own}; frame-ancestors 'none'"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost", "127.0.0.1:1", "evil.example:{port}", ""]
)
def test_a_request_under_another_name_gets_nothing(server: Server, host: str) -> None:
    for path in ("/", "/progress.json"):
        named = host.format(port=server.server_port)
        response, content = ask(server, path, Host=named)
        assert response.status == 421
        assert content == f"this is {server.address} and answers to no other name\n".encode()


def test_both_names_of_this_machine_are_answered(server: Server) -> None:
    for name in ("127.0.0.1", "localhost"):
        assert ask(server, Host=f"{name}:{server.server_port}")[0].status == 200


def test_a_request_without_a_name_or_with_two_gets_nothing(server: Server) -> None:
    for lines in ([], [f"Host: 127.0.0.1:{server.server_port}", "Host: evil.example"]):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as asking:
            asking.sendall("\r\n".join(["GET / HTTP/1.0", *lines, "", ""]).encode())
            answer = asking.makefile("rb").readline()
        assert answer == b"HTTP/1.0 421 Misdirected Request\r\n"


@pytest.mark.parametrize("path", ["/x", "/results.sqlite", "/../etc/passwd", "/?a", "/%2e"])
def test_there_is_nothing_else(server: Server, path: str) -> None:
    response, content = ask(server, path)
    assert (response.status, content) == (404, b"there are / and /progress.json\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"])
def test_nothing_but_reading(server: Server, method: str) -> None:
    response, content = ask(server, "/", method)
    assert (response.status, response.getheader("Allow")) == (405, "GET, HEAD")
    assert content == b"only GET and HEAD\n"


def test_a_head_has_no_content(server: Server) -> None:
    until(lambda: server.live.current)
    response, content = ask(server, "/", "HEAD")
    assert (response.status, content, response.getheader("Content-Length")) == (200, b"", "6")


def test_it_listens_on_the_loopback_interface_alone(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/"


def test_a_store_that_is_gone_is_said_on_the_page(server: Server, store: Store) -> None:
    store.close()
    store.path.unlink()
    response, content = ask(server)
    assert response.status == 200
    assert "holds no run: there is no results.sqlite" in content.decode()


def test_a_port_that_is_taken(server: Server, store: Store) -> None:
    with pytest.raises(PortTaken) as raised:
        Server(store.directory, server.server_port)
    told = f"port {server.server_port} of 127.0.0.1 is taken: give another with --port"
    assert str(raised.value) == told


def test_the_command_says_so_with_status_3(
    server: Server, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["serve", str(store.directory), "--port", str(server.server_port)]
    assert cli.run_command_line(arguments) == 3
    told = f"port {server.server_port} of 127.0.0.1 is taken: give another with --port\n"
    assert capsys.readouterr().err == told
    assert cli.run_command_line(["serve", str(store.directory), "--port", "70000"]) == 2


def test_a_directory_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(NoRun):
        Server(tmp_path, 0)


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_ends_as_it_is_told_to(store: Store, sent: signal.Signals, status: int) -> None:
    """As in a terminal, where Ctrl-C reaches every process; the first page is being made."""
    arguments = [sys.executable, "-m", "ablations", "serve", str(store.directory), "--port", "0"]
    with subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Ignored where the tests were started in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        os.killpg(process.pid, sent)
        out, err = process.communicate(timeout=120)
    assert said.startswith(f"{store.directory} is shown on http://127.0.0.1:")
    assert said.endswith("/ until Ctrl-C\n")
    assert (process.returncode, out, err) == (status, "", "")


@pytest.mark.slow
def test_a_run_that_goes_on_is_shown_whole(store: Store) -> None:
    """With the real renderer: the page changes as trials end, and is the report in the end."""
    from reports.page import render

    with Server(store.directory, 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        until(lambda: server.live.current)
        first = ask(server)[1].decode()
        assert "4 of 6 trials are still to be run" in first
        for cell in ("a", "b"):
            for seed in (7, 3):
                store.record(result(cell, seed, metrics={"flow.ratio": seed + (cell == "a")}))
        until(lambda: server.live.current)
        last = ask(server)[1].decode()
        own = render(store.frames())
        assert last.partition("<footer>")[0] == own.partition("<footer>")[0]
        server.shutdown()
        thread.join()
