"""No server takes the process of the trainer: each call ends in time, with an error of this package, and without using
much memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hostile import BINARY, KINDS, HostileServer, call, frame, http, observation, play

from openenv_ts import ConnectionLostError, OpenEnvError, VectorEnv, connect
from openenv_ts._agents import read_prompt, read_starts, read_toolbox
from openenv_ts._sockets import run

DEEP = "[" * 200_000
MB = 1024 * 1024


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
def test_an_odd_answer_is_a_protocol_error_and_the_next_reset_works(
    hostile: HostileServer, kind: str, odd: str
) -> None:
    hostile.on_step = lambda write, seq: write(frame(ODD[odd](seq or 0)))
    error, first = play(kind, hostile.url)
    assert (error.code, error.fault) == ("PROTOCOL_ERROR", "infrastructure")
    assert isinstance(error, ConnectionLostError)
    assert first == {"count": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_a_binary_frame_that_is_not_text_is_a_protocol_error(hostile: HostileServer, kind: str) -> None:
    hostile.on_step = lambda write, _: write(frame(b"\x00\xff" * 100, BINARY))
    assert play(kind, hostile.url)[0].code == "PROTOCOL_ERROR"


RESUMED: dict[str, Any] = {
    "no session": {},
    "a list as window": {"session_id": "s", "window_s": [1]},
    "text as window": {"session_id": "s", "window_s": "soon"},
}


@pytest.mark.parametrize("odd", RESUMED)
def test_an_odd_answer_to_resume_is_a_protocol_error(hostile: HostileServer, odd: str) -> None:
    hostile.on_resume = lambda write, _: write(frame({"type": "resumed", "data": RESUMED[odd]}))
    with connect(hostile.url) as env, pytest.raises(ConnectionLostError, match="PROTOCOL_ERROR"):
        env.reset()


def test_an_odd_answer_to_a_return_is_a_protocol_error(hostile: HostileServer) -> None:
    def resume(write: Any, is_return: bool) -> None:
        data = {"session_id": "s", "window_s": 10, "recovered": True, "last_seq": "many"}
        write(frame({"type": "resumed", "data": data}))

    def step(_write: Any, _seq: int | None) -> None:
        raise OSError("the connection is cut")

    hostile.on_resume, hostile.on_step = resume, step
    with connect(hostile.url) as env:
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
def test_odd_tools_are_a_protocol_error(hostile: HostileServer, tools: Any) -> None:
    hostile.on_mcp = tools
    with connect(hostile.url) as env:
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
def test_an_odd_reply_of_a_batch_is_the_failure_of_its_session(hostile: HostileServer, odd: str) -> None:
    def batch(write: Any, seq: int, message: dict[str, Any]) -> None:
        count = message["data"].get("count")
        opened = {"items": [{"type": "opened", "data": {"session": index}} for index in range(count or 0)]}
        data = opened if message["type"] == "open_many" else REPLIES[odd]
        write(frame({"type": "many", "data": data, "seq": seq, "openenv": {"extensions": ["batch", "resume"]}}))

    hostile.on_batch = batch
    with VectorEnv(hostile.url, 2, timeout=20) as envs:
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
def test_an_odd_http_answer_is_an_error_of_this_package(hostile: HostileServer, odd: str) -> None:
    answer, code = ANSWERS[odd]
    hostile.on_http = lambda write, _path: write(answer)
    with connect(hostile.url, timeout=20) as env:
        for read in (read_toolbox, read_prompt, lambda one: read_starts(one, "train", 3)):
            with pytest.raises(OpenEnvError) as raised:
                run(read(env._env))
            assert raised.value.code == code


@pytest.mark.parametrize("answer", ["5000000", '"many"', "null", "{}", "1e999"])
def test_a_number_of_tasks_that_is_none_is_a_protocol_error(hostile: HostileServer, answer: str) -> None:
    hostile.on_http = lambda write, path: write(http('["a"]' if "list" in path else f'{{"num_tasks": {answer}}}'))
    with connect(hostile.url) as env, pytest.raises(ConnectionLostError, match="PROTOCOL_ERROR"):
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
def test_an_odd_handshake_is_an_error_of_this_package(hostile: HostileServer, kind: str, odd: str) -> None:
    hostile.on_handshake = lambda write: write(HANDSHAKES[odd])
    with pytest.raises(OpenEnvError) as raised:
        call(kind, hostile.url, 20, "reset")
    assert raised.value.code == "CONNECTION_FAILED"
    assert len(str(raised.value)) < 3000
