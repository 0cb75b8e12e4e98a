"""No server takes the process of the trainer: each call ends in time, with an error of this package, and without using
much memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import BINARY, CONT, PING, HostileServer, endlessly, frame, http, observation

from openenv_ts import ConnectionLostError, OpenEnvError, VectorEnv, connect, connect_async
from openenv_ts._agents import read_prompt, read_starts, read_toolbox
from openenv_ts._sockets import run

KINDS = ["blocking", "asyncio"]
DEEP = "[" * 200_000
MB = 1024 * 1024


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as started:
        yield started


def play(kind: str, url: str, *, timeout: float = 20.0, **options: Any) -> Any:
    """The error of a step after a reset, and what a second reset returns."""
    if kind == "blocking":
        with connect(url, timeout=timeout, **options) as env:
            env.reset()
            with pytest.raises(OpenEnvError) as raised:
                env.step({})
            return raised.value, env.reset().observation

    async def steps() -> Any:
        async with connect_async(url, timeout=timeout, **options) as env:
            await env.reset()
            with pytest.raises(OpenEnvError) as raised:
                await env.step({})
            return raised.value, (await env.reset()).observation

    return asyncio.run(steps())


def call(kind: str, url: str, timeout: float, method: str, *given: str) -> Any:
    if kind == "blocking":
        return getattr(connect(url, timeout=timeout), method)(*given)
    return asyncio.run(getattr(connect_async(url, timeout=timeout), method)(*given))


def altered(**changed: Any) -> Callable[[int], Any]:
    return lambda seq: {**observation(seq), **changed}


def result(**changed: Any) -> Callable[[int], Any]:
    return lambda seq: observation(seq, **changed)


ODD: dict[str, Callable[[int], Any]] = {
    "not JSON": lambda _: "{",
    "nothing": lambda _: "",
    "a list": lambda _: "[]",
    "a number": lambda _: "7",
    "null": lambda _: "null",
    "a string": lambda _: '"observation"',
    "not UTF-8": lambda _: b'{"type": "\xff\xfe"}',
    "deep": lambda _: DEEP,
    "deep data": lambda seq: json.dumps(observation(seq)).replace('"reward": 1', f'"reward": {DEEP}'),
    "a long integer": lambda seq: json.dumps(observation(seq)).replace('"reward": 1', f'"reward": {"9" * 5000}'),
    "a reward beyond a float": lambda seq: json.dumps(observation(seq)).replace(
        '"reward": 1', f'"reward": {"9" * 400}'
    ),
    "an infinite reward": result(reward=float("inf")),
    "a reward of text": result(reward="1"),
    "a list as reward": result(reward=[1]),
    "no type": lambda seq: {"data": {}, "seq": seq},
    "a list as type": altered(type=["observation"]),
    "another type": altered(type="state"),
    "no data": lambda seq: {"type": "observation", "seq": seq},
    "null as data": altered(data=None),
    "a list as data": altered(data=[]),
    "no observation": altered(data={"reward": 1, "done": False}),
    "a list as observation": result(observation=[]),
    "null as done": result(done=None),
    "a number as done": result(done=1),
    "text as number": altered(seq="2"),
    "a list as number": altered(seq=[2]),
    "no number": lambda _: observation(None),
    "a later number": altered(seq=10**9),
    "an error without code": altered(type="error", data={}),
    "an error with a list as code": altered(type="error", data={"code": ["X"]}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_answer_is_a_protocol_error_and_the_next_reset_works(server: HostileServer, kind: str, odd: str) -> None:
    server.on_step = lambda write, seq: write(frame(ODD[odd](seq or 0)))
    error, first = play(kind, server.url)
    assert (error.code, error.fault) == ("PROTOCOL_ERROR", "infrastructure")
    assert isinstance(error, ConnectionLostError)
    assert first == {"count": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_a_binary_frame_that_is_not_text_is_a_protocol_error(server: HostileServer, kind: str) -> None:
    server.on_step = lambda write, _: write(frame(b"\x00\xff" * 100, BINARY))
    assert play(kind, server.url)[0].code == "PROTOCOL_ERROR"


RESUMED: dict[str, Any] = {
    "no session": {},
    "a list as window": {"session_id": "s", "window_s": [1]},
    "text as window": {"session_id": "s", "window_s": "soon"},
}


@pytest.mark.parametrize("odd", RESUMED)
def test_an_odd_answer_to_resume_is_a_protocol_error(server: HostileServer, odd: str) -> None:
    server.on_resume = lambda write, _: write(frame({"type": "resumed", "data": RESUMED[odd]}))
    with connect(server.url) as env, pytest.raises(ConnectionLostError, match="PROTOCOL_ERROR"):
        env.reset()


def test_an_odd_answer_to_a_return_is_a_protocol_error(server: HostileServer) -> None:
    def resume(write: Any, is_return: bool) -> None:
        data = {"session_id": "s", "window_s": 10, "recovered": True, "last_seq": "many"}
        write(frame({"type": "resumed", "data": data}))

    def step(_write: Any, _seq: int | None) -> None:
        raise OSError("the connection is cut")

    server.on_resume, server.on_step = resume, step
    with connect(server.url) as env:
        env.reset()
        with pytest.raises(ConnectionLostError, match="PROTOCOL_ERROR"):
            env.step({})


TOOLS: list[Any] = [
    {},
    {"result": []},
    {"result": {"tools": {}}},
    {"result": {"tools": [1]}},
    {"result": {"tools": [{}]}},
    {"result": {"tools": [{"name": "a", "inputSchema": []}]}},
    {"result": {"tools": [{"name": "a", "inputSchema": {"type": "object", "properties": [1]}}]}},
    {"result": {"tools": [{"name": "a", "inputSchema": {"properties": {"b": 1}}}]}},
    {"result": {"tools": [{"name": "a", "inputSchema": {"required": ["b"]}}]}},
]


@pytest.mark.parametrize("tools", TOOLS, ids=json.dumps)
def test_odd_tools_are_a_protocol_error(server: HostileServer, tools: Any) -> None:
    server.on_mcp = tools
    with connect(server.url) as env:
        env.reset()
        if tools == {"result": {"tools": [{"name": "a", "inputSchema": []}]}}:
            assert env.list_tools()[0].input_schema == {"type": "object"}
            return
        with pytest.raises(ConnectionLostError, match="PROTOCOL_ERROR"):
            env.list_tools()


REPLIES: dict[str, Any] = {
    "no items": {},
    "too few": {"items": [{"type": "observation", "data": {}}]},
    "numbers": {"items": [1, 2]},
    "null": {"items": [None, None]},
    "no data": {"items": [{"type": "observation"}, {"type": "observation"}]},
    "a list as data": {"items": [{"type": "observation", "data": []}] * 2},
    "an error without code": {"items": [{"type": "error", "data": {}}] * 2},
    "an error without data": {"items": [{"type": "error"}] * 2},
    "no observation": {"items": [{"type": "observation", "data": {"observation": 1}}] * 2},
}


@pytest.mark.parametrize("odd", REPLIES)
def test_an_odd_reply_of_a_batch_is_the_failure_of_its_session(server: HostileServer, odd: str) -> None:
    def batch(write: Any, seq: int, message: dict[str, Any]) -> None:
        count = message["data"].get("count")
        opened = {"items": [{"type": "opened", "data": {"session": index}} for index in range(count or 0)]}
        data = opened if message["type"] == "open_many" else REPLIES[odd]
        write(frame({"type": "many", "data": data, "seq": seq, "openenv": {"extensions": ["batch", "resume"]}}))

    server.on_batch = batch
    with VectorEnv(server.url, 2, timeout=20) as envs:
        results = envs.reset()
        assert [(one and one.outcome, one and one.error and one.error.code) for one in results] == [
            ("lost", "PROTOCOL_ERROR")
        ] * 2


ANSWERS: dict[str, tuple[bytes, str]] = {
    "not HTTP": (b"hello\r\n\r\n", "PROTOCOL_ERROR"),
    "no JSON": (http("<html>"), "PROTOCOL_ERROR"),
    "deep JSON": (http(DEEP), "PROTOCOL_ERROR"),
    "not UTF-8": (http(b'{"a": "\xff"}'), "PROTOCOL_ERROR"),
    "a long integer": (http("9" * 5000), "PROTOCOL_ERROR"),
    "a list": (http("[]"), "PROTOCOL_ERROR"),
    "null": (http("null"), "PROTOCOL_ERROR"),
    "a number": (http("3"), "PROTOCOL_ERROR"),
    "an error in deep JSON": (http(DEEP, "500 Error"), "REQUEST_FAILED"),
    "an error in a list": (http("[1]", "500 Error"), "REQUEST_FAILED"),
    "too short": (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}", "CONNECTION_FAILED"),
    "nothing": (b"", "CONNECTION_FAILED"),
    "a long line": (b"HTTP/1.1 200 OK\r\nA: " + b"a" * 100_000, "PROTOCOL_ERROR"),
    "many headers": (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1000, "PROTOCOL_ERROR"),
    "an invalid chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "CONNECTION_FAILED"),
}


@pytest.mark.parametrize("odd", ANSWERS)
def test_an_odd_http_answer_is_an_error_of_this_package(server: HostileServer, odd: str) -> None:
    answer, code = ANSWERS[odd]
    server.on_http = lambda write, _path: write(answer)
    with connect(server.url, timeout=20) as env:
        for read in (read_toolbox, read_prompt, lambda one: read_starts(one, "train", 3)):
            with pytest.raises(OpenEnvError) as raised:
                run(read(env._env))
            assert raised.value.code == code


@pytest.mark.parametrize("answer", ["5000000", '"many"', "null", "{}", "1e999"])
def test_a_number_of_tasks_that_is_none_is_a_protocol_error(server: HostileServer, answer: str) -> None:
    server.on_http = lambda write, path: write(http('["a"]' if "list" in path else f'{{"num_tasks": {answer}}}'))
    with connect(server.url) as env, pytest.raises(ConnectionLostError, match="PROTOCOL_ERROR"):
        run(read_starts(env._env, "train", 3))


HANDSHAKES: dict[str, bytes] = {
    "not HTTP": b"hello\r\n\r\n",
    "another status": http("no", "302 Found", "Location: http://127.0.0.1/"),
    "a refusal": http("x" * 2 * MB, "403 Forbidden"),
    "no key": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "nothing": b"",
    "not ASCII": b"HTTP/1.1 101 \xff\xfe\r\n\xff: \xff\r\n\r\n",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", HANDSHAKES)
def test_an_odd_handshake_is_an_error_of_this_package(server: HostileServer, kind: str, odd: str) -> None:
    server.on_handshake = lambda write: write(HANDSHAKES[odd])
    with pytest.raises(OpenEnvError) as raised:
        call(kind, server.url, 20, "reset")
    assert raised.value.code == "CONNECTION_FAILED"
    assert len(str(raised.value)) < 3000


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
def empty_fragments(server: HostileServer) -> None:
    head = frame(b"", fin=False)
    server.on_step = lambda write, _: (write(head), endlessly(write, frame(b"", CONT, fin=False) * 10_000))[0]


@endless
def fragments_of_a_byte(server: HostileServer) -> None:
    head = frame(b" ", fin=False)
    server.on_step = lambda write, _: (write(head), endlessly(write, frame(b" ", CONT, fin=False) * 10_000))[0]


@endless
def slow_fragments(server: HostileServer) -> None:
    server.on_step = lambda write, _: (write(frame(b"", fin=False)), slowly(write, frame(b"", CONT, fin=False)))[0]


@endless
def answers_to_earlier_requests(server: HostileServer) -> None:
    server.on_step = lambda write, _: endlessly(write, frame(observation(1)) * 100)


@endless
def pings(server: HostileServer) -> None:
    server.on_step = lambda write, _: endlessly(write, frame(b"x" * 100, PING) * 1000)


@endless
def silence(server: HostileServer) -> None:
    server.on_step = lambda _write, _seq: None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ENDLESS)
def test_what_never_ends_is_ended_by_the_time_limit_of_the_call(server: HostileServer, kind: str, how: str) -> None:
    ENDLESS[how](server)
    began = time.monotonic()
    error, _ = play(kind, server.url, timeout=2.0)
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
def test_a_slow_http_answer_ends_at_the_time_limit(server: HostileServer, kind: str, how: str) -> None:
    server.on_http = BODIES[how]
    began = time.monotonic()
    with pytest.raises(ConnectionLostError, match="CLIENT_TIMEOUT"):
        call(kind, server.url, 1.5, "get", "/schema")
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_handshake_ends_at_the_time_limit(server: HostileServer, kind: str) -> None:
    server.on_handshake = lambda write: slowly(write, b"H")
    began = time.monotonic()
    with pytest.raises(ConnectionLostError, match="CLIENT_TIMEOUT"):
        call(kind, server.url, 1.5, "reset")
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
    with HostileServer(resumes=False) as server:

        def step(write: Any, seq: int | None) -> None:
            write(frame(observation(seq)) + frame(observation(seq, reward=100)))
            arrived.set()

        server.on_step = step
        if kind == "blocking":
            with connect(server.url, timeout=20) as env:
                env.reset()
                assert env.step({}).reward == 1
                arrived.wait(20)
                env._env._connection.socket.poll()
                with pytest.raises(ConnectionLostError, match=r"PROTOCOL_ERROR.*not asked for"):
                    env.step({})
            return

        async def steps() -> None:
            async with connect_async(server.url, timeout=20) as env:
                await env.reset()
                assert (await env.step({})).reward == 1
                while not env._connection.socket.has_message:
                    await asyncio.sleep(0.01)
                with pytest.raises(ConnectionLostError, match=r"PROTOCOL_ERROR.*not asked for"):
                    await env.step({})

        asyncio.run(steps())


def test_a_network_that_fails_silently_is_noticed_by_pings(
    monkeypatch: pytest.MonkeyPatch, server: HostileServer
) -> None:
    monkeypatch.setattr("openenv_ts._sockets.PING_S", 1.0)
    stopped: list[bool] = []

    def step(write: Any, seq: int | None) -> None:
        if not stopped:
            stopped.append(True)
            # The frames of this connection, and so pings, are not read any more.
            threading.Event().wait()
        write(frame(observation(seq)))

    server.on_step = step
    with connect(server.url, timeout=300) as env:
        env.reset()
        result = env.step({})
        assert (result.reward, result.recovered) == (1, True)

    async def steps() -> None:
        stopped.clear()
        async with connect_async(server.url, timeout=300) as env:
            await env.reset()
            result = await env.step({})
            assert (result.reward, result.recovered) == (1, True)

    asyncio.run(steps())


def test_texts_of_a_server_are_escaped_and_cut(server: HostileServer) -> None:
    text = "\x1b[2J\nCRITICAL all is well\u202e" + "x" * 100_000
    server.on_step = lambda write, seq: write(
        frame({"type": "error", "data": {"code": "E\x1b\n", "message": text}, "seq": seq})
    )
    with connect(server.url) as env:
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
def test_an_http_body_has_a_maximum(server: HostileServer, kind: str, size: str) -> None:
    head = {"length": f"Content-Length: {10**12}\r\n", "chunked": "Transfer-Encoding: chunked\r\n", "none": ""}[size]
    part = b"10000\r\n" + b" " * 65_536 + b"\r\n" if size == "chunked" else b" " * 65_536
    server.on_http = lambda write, _: (write(f"HTTP/1.1 200 OK\r\n{head}\r\n".encode()), endlessly(write, part))[0]
    code, used = measure(kind, "get", server.url)
    assert code == "PROTOCOL_ERROR"
    assert used < 200 * MB


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["frames", "small frames", "pings"])
def test_what_arrives_between_calls_is_not_kept_without_limit(server: HostileServer, kind: str, part: str) -> None:
    data = {"frames": frame(b" " * 100_000), "small frames": frame(b"") * 1000, "pings": frame(b"p" * 100, PING) * 1000}

    def resume(write: Any, is_return: bool) -> None:
        server._resume(write, is_return)
        threading.Thread(target=flood, args=(write,), daemon=True).start()

    def flood(write: Any) -> None:
        time.sleep(1)
        with contextlib.suppress(OSError):
            endlessly(write, data[part])

    server.on_resume = resume
    _, used = measure(kind, "idle", server.url)
    assert used < 150 * MB


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["empty fragments", "fragments of a byte", "answers to earlier requests", "pings"])
def test_an_endless_answer_uses_little_memory(server: HostileServer, kind: str, how: str) -> None:
    ENDLESS[how](server)
    code, used = measure(kind, "step", server.url)
    assert code in ("CLIENT_TIMEOUT", "SESSION_LOST")
    assert used < 250 * MB
