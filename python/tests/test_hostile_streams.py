"""What a server sends without end, or does not send, ends in time and uses little memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile import CONT, KINDS, PING, HostileServer, call, endlessly, frame, observation, play

from openenv_ts import ConnectionLostError, OpenEnvError, connect, connect_async

MB = 1024 * 1024


def slowly(write: Any, data: bytes) -> None:
    """A byte now and then: each read has an answer in time."""
    pause = threading.Event()
    while not pause.wait(0.1):
        write(data)


ENDLESS: dict[str, Callable[[HostileServer], None]] = {}


def endless(how: Callable[[HostileServer], None]) -> Callable[[HostileServer], None]:
    ENDLESS[how.__name__.replace("_", " ")] = how
    return how


@endless
def empty_fragments(hostile: HostileServer) -> None:
    head = frame(b"", fin=False)
    hostile.on_step = lambda write, _: (write(head), endlessly(write, frame(b"", CONT, fin=False) * 10_000))[0]


@endless
def fragments_of_a_byte(hostile: HostileServer) -> None:
    head = frame(b" ", fin=False)
    hostile.on_step = lambda write, _: (write(head), endlessly(write, frame(b" ", CONT, fin=False) * 10_000))[0]


@endless
def slow_fragments(hostile: HostileServer) -> None:
    hostile.on_step = lambda write, _: (write(frame(b"", fin=False)), slowly(write, frame(b"", CONT, fin=False)))[0]


@endless
def answers_to_earlier_requests(hostile: HostileServer) -> None:
    hostile.on_step = lambda write, _: endlessly(write, frame(observation(1)) * 100)


@endless
def pings(hostile: HostileServer) -> None:
    hostile.on_step = lambda write, _: endlessly(write, frame(b"x" * 100, PING) * 1000)


@endless
def silence(hostile: HostileServer) -> None:
    hostile.on_step = lambda _write, _seq: None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ENDLESS)
def test_what_never_ends_is_ended_by_the_time_limit_of_the_call(hostile: HostileServer, kind: str, how: str) -> None:
    ENDLESS[how](hostile)
    began = time.monotonic()
    error, _ = play(kind, hostile.url, timeout=2.0)
    assert error.code in ("CLIENT_TIMEOUT", "SESSION_LOST")
    assert time.monotonic() - began < 20


BODIES: dict[str, Callable[[Any, str], None]] = {
    "a slow body": lambda write, _: (write(b"HTTP/1.1 200 OK\r\n\r\n"), slowly(write, b" "))[0],
    "slow headers": lambda write, _: (write(b"HTTP/1.1 200 OK\r\n"), slowly(write, b"a"))[0],
    "a slow status": lambda write, _: slowly(write, b"H"),
    "interim answers": lambda write, _: slowly(write, b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", BODIES)
def test_a_slow_http_answer_ends_at_the_time_limit(hostile: HostileServer, kind: str, how: str) -> None:
    hostile.on_http = BODIES[how]
    began = time.monotonic()
    with pytest.raises(ConnectionLostError, match="CLIENT_TIMEOUT"):
        call(kind, hostile.url, 1.5, "get", "/schema")
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_handshake_ends_at_the_time_limit(hostile: HostileServer, kind: str) -> None:
    hostile.on_handshake = lambda write: slowly(write, b"H")
    began = time.monotonic()
    with pytest.raises(ConnectionLostError, match="CLIENT_TIMEOUT"):
        call(kind, hostile.url, 1.5, "reset")
    assert time.monotonic() - began < 15


def test_a_server_that_never_stops_sending_does_not_hold_the_thread_that_answers_pings() -> None:
    with HostileServer() as flooding, HostileServer() as good:
        flooding.on_open = lambda write: endlessly(write, frame(b"x", PING) * 1000)
        with connect(flooding.url, timeout=3) as one, connect(good.url) as other:
            with pytest.raises(ConnectionLostError):
                one.reset()
            assert other.reset().observation == {"count": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_that_was_not_asked_for_is_not_the_answer_of_the_next_request(kind: str) -> None:
    arrived = threading.Event()
    with HostileServer(resumes=False) as hostile:

        def step(write: Any, seq: int | None) -> None:
            write(frame(observation(seq)) + frame(observation(seq, reward=100)))
            arrived.set()

        hostile.on_step = step
        if kind == "blocking":
            with connect(hostile.url, timeout=20) as env:
                env.reset()
                assert env.step({}).reward == 1
                arrived.wait(20)
                env._env._connection.socket.poll()
                with pytest.raises(ConnectionLostError, match=r"PROTOCOL_ERROR.*not asked for"):
                    env.step({})
            return

        async def steps() -> None:
            async with connect_async(hostile.url, timeout=20) as env:
                await env.reset()
                assert (await env.step({})).reward == 1
                while not env._connection.socket.has_message:
                    await asyncio.sleep(0.01)
                with pytest.raises(ConnectionLostError, match=r"PROTOCOL_ERROR.*not asked for"):
                    await env.step({})

        asyncio.run(steps())


def test_a_network_that_fails_silently_is_noticed_by_pings(
    monkeypatch: pytest.MonkeyPatch, hostile: HostileServer
) -> None:
    monkeypatch.setattr("openenv_ts._sockets.PING_S", 1.0)
    stopped: list[bool] = []

    def step(write: Any, seq: int | None) -> None:
        if not stopped:
            stopped.append(True)
            # The frames of this connection, and so pings, are not read any more.
            threading.Event().wait()
        write(frame(observation(seq)))

    hostile.on_step = step
    with connect(hostile.url, timeout=300) as env:
        env.reset()
        result = env.step({})
        assert (result.reward, result.recovered) == (1, True)

    async def steps() -> None:
        stopped.clear()
        async with connect_async(hostile.url, timeout=300) as env:
            await env.reset()
            result = await env.step({})
            assert (result.reward, result.recovered) == (1, True)

    asyncio.run(steps())


def test_texts_of_a_server_are_escaped_and_cut(hostile: HostileServer) -> None:
    text = "\x1b[2J\nCRITICAL all is well\u202e" + "x" * 100_000
    hostile.on_step = lambda write, seq: write(
        frame({"type": "error", "data": {"code": "E\x1b\n", "message": text}, "seq": seq})
    )
    with connect(hostile.url) as env:
        env.reset()
        with pytest.raises(OpenEnvError) as raised:
            env.step({})
    for shown in (str(raised.value), repr(raised.value), raised.value.message, raised.value.code):
        assert shown.isprintable()
        assert len(shown) < 3000


MEASURE = """
import asyncio, json, resource, sys, time
from openenv_ts import OpenEnvError, connect, connect_async
kind, what, url = sys.argv[1:]
async def call():
    env = connect_async(url, timeout=5)
    try:
        if what == "get":
            await env.get("/schema")
        await env.reset()
        if what == "idle":
            await asyncio.sleep(4)
        await env.step({})
    finally:
        await env.close()
def block():
    with connect(url, timeout=5) as env:
        if what == "get":
            env.get("/schema")
        env.reset()
        if what == "idle":
            for _ in range(40):
                env._env._connection.socket.poll()
                time.sleep(0.1)
        env.step({})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    block() if kind == "blocking" else asyncio.run(call())
except OpenEnvError as error:
    code = error.code
else:
    code = None
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps([code, used * (1 if sys.platform == "darwin" else 1024)]))
"""


def measure(kind: str, what: str, url: str) -> tuple[str | None, int]:
    """The code of the error, and the bytes of memory that a process used more for it."""
    path = str(Path(__file__).parent.parent / "src")
    script = f"import sys; sys.path.insert(0, {path!r})\n{MEASURE}"
    printed = subprocess.run(
        [sys.executable, "-c", script, kind, what, url], capture_output=True, text=True, check=True
    )
    code, used = json.loads(printed.stdout)
    return code, used


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", ["length", "chunked", "none"])
def test_an_http_body_has_a_maximum(hostile: HostileServer, kind: str, size: str) -> None:
    head = {"length": f"Content-Length: {10**12}\r\n", "chunked": "Transfer-Encoding: chunked\r\n", "none": ""}[size]
    part = b"10000\r\n" + b" " * 65_536 + b"\r\n" if size == "chunked" else b" " * 65_536
    hostile.on_http = lambda write, _: (write(f"HTTP/1.1 200 OK\r\n{head}\r\n".encode()), endlessly(write, part))[0]
    code, used = measure(kind, "get", hostile.url)
    assert code == "PROTOCOL_ERROR"
    assert used < 200 * MB


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["frames", "small frames", "pings"])
def test_what_arrives_between_calls_is_not_kept_without_limit(hostile: HostileServer, kind: str, part: str) -> None:
    data = {"frames": frame(b" " * 100_000), "small frames": frame(b"") * 1000, "pings": frame(b"p" * 100, PING) * 1000}

    def resume(write: Any, is_return: bool) -> None:
        hostile._resume(write, is_return)
        threading.Thread(target=flood, args=(write,), daemon=True).start()

    def flood(write: Any) -> None:
        time.sleep(1)
        with contextlib.suppress(OSError):
            endlessly(write, data[part])

    hostile.on_resume = resume
    _, used = measure(kind, "idle", hostile.url)
    assert used < 150 * MB


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["empty fragments", "fragments of a byte", "answers to earlier requests", "pings"])
def test_an_endless_answer_uses_little_memory(hostile: HostileServer, kind: str, how: str) -> None:
    ENDLESS[how](hostile)
    code, used = measure(kind, "step", hostile.url)
    assert code in ("CLIENT_TIMEOUT", "SESSION_LOST")
    assert used < 250 * MB
