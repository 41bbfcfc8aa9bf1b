"""Whether a Ray cluster asks for a token, and whether it takes the one that is here.

Ray does not ask a cluster that is joined at HOST:PORT. It sends its token only where RAY_AUTH_MODE
says so; without it, it tries a cluster that wants one for 20 seconds, with a page of warnings. And
with it nothing can be run on a cluster that wants none, since this process then refuses its calls.
So the cluster is asked first, and the variable is set where it is to be.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ablations.executors.cluster.extra import of_the_extra
from ablations.executors.errors import ExecutorError

MODE = "RAY_AUTH_MODE"
TOKEN = "RAY_AUTH_TOKEN"  # noqa: S105
PATH = "RAY_AUTH_TOKEN_PATH"
KUBERNETES = "RAY_ENABLE_K8S_TOKEN_AUTH"

CLIENT = "ray://"
"""How an address begins that is the one of a cluster's Ray Client server."""

ASKED_SECONDS = 5.0

METHODS = {True: "/ray.rpc.RayletDriver/KVExists", False: "/ray.rpc.NodeInfoGcsService/CheckAlive"}
"""What is called to find out, by whether it is a Ray Client server; empty, it changes nothing."""


@contextlib.contextmanager
def mode_kept() -> Iterator[None]:
    """Leave the mode as it was: Ray sets it for good where it starts a cluster, or finds one.

    Ray reads it once; whoever joins a cluster by Ray itself afterwards would join in this mode.
    """
    before = os.environ.get(MODE)
    try:
        yield
    finally:
        _set(before)
        if sys.modules.get("ray") is not None:
            read_again()


def send_where_asked(address: str) -> None:
    """Have a Ray that is yet to be loaded send the token to the cluster at an address, if asked to.

    Raises: ExecutorError where it would not be let in.
    """
    if asked(address) and MODE not in os.environ:
        _set("token")


def asked(address: str) -> bool:
    """Whether the cluster asks for the token that is here; False, too, where nobody can tell.

    Raises: ExecutorError where it asks for one that this process has not, or is told not to send;
    where it asks for none, and this process is told to send one; where it is no such cluster.
    """
    mode = os.environ.get(MODE)
    answer = _answer(address, "")
    if answer == "UNIMPLEMENTED":
        raise ExecutorError(f"what answers at {address!r} is not {_expected(address)}")
    if answer != "UNAUTHENTICATED":
        if answer == "OK" and (mode or "").lower() == "token":
            raise ExecutorError(
                f"the Ray cluster at {address!r} asks for no token, and with {MODE}={mode} this "
                "process would refuse its calls, which have none: unset it"
            )
        return False
    if mode is not None and mode.lower() != "token":
        raise ExecutorError(
            f"the Ray cluster at {address!r} asks for a token, and {MODE}={mode} has none sent: "
            "unset it"
        )
    if KUBERNETES in os.environ:  # Ray has its token from elsewhere
        return True
    token, source = _here()
    if not token:
        raise ExecutorError(
            f"the Ray cluster at {address!r} asks for a token, and there is none in {source}: copy "
            f"~/.ray/auth_token from a machine of the cluster, or say where it is ({PATH})"
        )
    if _answer(address, token) == "UNAUTHENTICATED":
        raise ExecutorError(
            f"the Ray cluster at {address!r} asks for another token than that of {source}: copy "
            f"~/.ray/auth_token from a machine of the cluster, or say where it is ({PATH})"
        )
    return True


def read_again() -> None:
    """Have a Ray that was loaded before read the mode and the token anew, as Ray itself does."""
    inside: Any = importlib.import_module("ray._raylet")
    inside.Config.initialize("")
    inside.AuthenticationTokenLoader.instance().reset_cache()


def _answer(address: str, token: str) -> str:
    """The name of the gRPC status of a call that needs the token, and nothing else."""
    with of_the_extra():
        import grpc

    is_client = address.startswith(CLIENT)
    metadata = [("authorization", f"Bearer {token}")] if token else []
    # As Ray: proxies of the environment are not for the nodes of a cluster.
    options = [("grpc.enable_http_proxy", 0)]
    with grpc.insecure_channel(address.removeprefix(CLIENT), options) as channel:
        try:
            channel.unary_unary(METHODS[is_client])(b"", timeout=ASKED_SECONDS, metadata=metadata)
        except grpc.RpcError as error:
            return str(error.code().name)
    return "OK"


def _expected(address: str) -> str:
    if address.startswith(CLIENT):
        return (
            "the server of Ray's clients, which is at port 10001 of the head unless it was told "
            "another"
        )
    return (
        "what nodes of a Ray cluster join, which is at port 6379 of the head unless it was told "
        f"another (port 10001 is for {CLIENT}HOST:10001)"
    )


def _here() -> tuple[str, str]:
    """The token that Ray would send, and where it is from, in Ray's own order."""
    if os.environ.get(TOKEN):
        return os.environ[TOKEN].strip(), TOKEN
    path = os.environ.get(PATH) or "~/.ray/auth_token"
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip(), path
    except OSError:
        return "", path


def _set(mode: str | None) -> None:
    if mode is None:
        os.environ.pop(MODE, None)
    else:
        os.environ[MODE] = mode
