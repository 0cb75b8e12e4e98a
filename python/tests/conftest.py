"""Real servers of this repository, and a proxy that cuts connections."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import HostileServer

from openenv_ts import VectorResult

TESTS = Path(__file__).parent
COMMAND = TESTS.parent.parent / "packages/cli/bin/openenv.js"


class Server:
    """``openenv serve`` of an environment, by default the one next to this file."""

    def __init__(self, environment: str | Path = "environment.mjs", *, port: int = 0, **variables: str) -> None:
        env = {**os.environ, "LOG_LEVEL": "info", "MAX_CONCURRENT_ENVS": "2000", **variables}
        self.process = subprocess.Popen(
            ["node", COMMAND, "serve", environment, "--port", str(port)],
            cwd=TESTS,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        read = ""
        for line in self.process.stdout:
            read += line
            found = re.search(r"at (http://\S+)", line)
            if found:
                self.url = found[1].rstrip("/")
                break
        else:
            raise AssertionError(f"the server did not start:\n{read}")
        # A full pipe would block the server.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def stop(self) -> None:
        """It stays connected, and answers nothing."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    def kill(self) -> None:
        # The worker, too: without its supervisor it answers for a moment.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def metric(url: str, name: str) -> int:
    """A metric of a server that was started with OPENENV_OPERATOR_TOKEN=operator."""
    request = urllib.request.Request(f"{url}/metrics", headers={"authorization": "Bearer operator"})
    with urllib.request.urlopen(request) as answer:
        lines = answer.read().decode().splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if line.split(" ")[0].split("{")[0] == name)


def opened(url: str) -> int:
    return metric(url, "openenv_sessions")


def counts(results: list[VectorResult | None]) -> list[Any]:
    return [result and result.observation and result.observation["count"] for result in results]


@contextlib.contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """The block runs until it is interrupted, as by Ctrl-C."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        timer.cancel()


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"the condition was not met within {seconds} s"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.kill()


class Proxy:
    """Passes connections on, and cuts them."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.accepted = 0
        self.cut_at_answer = False
        self.replace: tuple[bytes, bytes] = (b"", b"")
        """What is replaced in answers, by something of the same length."""
        self.refused = 0
        """The number of the connection that is refused."""
        self.stopped = threading.Event()
        """Whether no request is passed on."""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self.accepted == self.refused:
                client.close()
                continue
            try:
                client, upstream = self._wrap(client), self._connect()
            except OSError:
                client.close()
                continue
            self._open += [client, upstream]
            threading.Thread(target=self._pump, args=(client, upstream, False), daemon=True).start()
            threading.Thread(target=self._pump, args=(upstream, client, True), daemon=True).start()

    def _wrap(self, client: socket.socket) -> socket.socket:
        return client

    def _connect(self) -> socket.socket:
        return socket.create_connection(self._target)

    def _pump(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(65_536):
                if answers and self.cut_at_answer:
                    self.cut_at_answer = False
                    self.cut()
                    return
                self._pass(data, source, target, answers)
        except OSError:
            pass
        for one in (source, target):
            shut(one)

    def _pass(self, data: bytes, source: socket.socket, target: socket.socket, answers: bool) -> None:
        while self.stopped.is_set() and not answers:
            time.sleep(0.02)
        target.sendall(data.replace(*self.replace) if answers and self.replace[0] else data)

    def cut(self) -> None:
        cut, self._open = self._open, []
        for one in cut:
            shut(one)

    def close(self) -> None:
        self._listener.close()
        self.cut()


def shut(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    opened = Proxy(server.url)
    yield opened
    opened.close()


@pytest.fixture
def text_proxies() -> Iterator[list[Proxy]]:
    """Four proxies of a server of ``text.mjs``, one for each rollout."""
    server = Server("text.mjs")
    proxies = [Proxy(server.url) for _ in range(4)]
    yield proxies
    for proxy in proxies:
        proxy.close()
    server.kill()


@pytest.fixture
def hostile() -> Iterator[HostileServer]:
    with HostileServer() as started:
        yield started
