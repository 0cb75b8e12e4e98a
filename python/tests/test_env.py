from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from typing import Any

import pytest
from conftest import Proxy, Server, opened, wait_for

from openenv_ts import AsyncEnv, ConnectionLostError, RemoteError, StepResult, VectorEnv, connect, connect_async
from openenv_ts._sockets import run


def test_plays_an_episode(server: Server) -> None:
    with connect(server.url) as env:
        first = env.reset(seed=7)
        assert first.outcome == "ok"
        assert first.observation["count"] == 0
        result = env.step({"amount": 4})
        assert (result.observation["count"], result.reward, result.done) == (4, 4, False)
        assert env.state()["step_count"] == 1
        last = env.step({"amount": 6})
        assert (last.outcome, last.done) == ("terminated", True)
        assert env.reset(seed=7).observation == first.observation


def test_equal_states_have_equal_digests(server: Server) -> None:
    with connect(server.url, digest=True) as env, VectorEnv(server.url, 2, digest=True) as envs:
        one, (same, other) = env.reset(seed=1), envs.reset([{"seed": 1}, {"seed": 2}])
        assert one.digest is not None
        assert same is not None
        assert other is not None
        assert one.digest == same.digest != other.digest
    with connect(server.url) as env:
        assert env.reset(seed=1).digest is None


def test_async_plays_an_episode(server: Server) -> None:
    async def play() -> list[int]:
        async with connect_async(server.url) as env:
            await env.reset()
            return [(await env.step({"amount": 1})).observation["count"] for _ in range(3)]

    assert asyncio.run(play()) == [1, 2, 3]


def test_plays_on_uvloop(proxy: Proxy) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def play() -> list[int]:
        async with connect_async(proxy.url) as env:
            await env.reset()
            counts = []
            for _ in range(3):
                proxy.cut()
                counts.append((await env.step({"amount": 1})).observation["count"])
            return counts

    loop = uvloop.new_event_loop()
    assert loop.run_until_complete(play()) == [1, 2, 3]
    loop.close()


def test_lists_and_calls_tools(server: Server) -> None:
    with connect(server.url) as env:
        env.reset()
        [tool] = env.list_tools()
        assert (tool.name, tool.description) == ("add", "Adds to the count.")
        assert tool.input_schema["properties"]["amount"]["type"] == "integer"
        result = env.call_tool("add", {"amount": 2})
        assert (result.data, result.text, result.error) == (2, "2", None)
        failed = env.call_tool("add", {"amount": "much"})
        assert failed.error is not None
        assert env.call_tool("add", {"amount": 2}).data == 4


def test_an_error_of_the_server_does_not_end_the_session(server: Server) -> None:
    with connect(server.url) as env:
        env.reset()
        env.step({"amount": 1})
        with pytest.raises(RemoteError, match="VALIDATION_ERROR") as raised:
            env.step({"wrong": 1})
        assert raised.value.details["errors"]
        with pytest.raises(RemoteError, match="not valid JSON"):
            env.step({"amount": float("nan")})
        assert env.step({"amount": 1}).observation["count"] == 2


@pytest.mark.parametrize("how", ["between calls", "in place of the answer", "during the step"])
def test_continues_after_a_cut(server: Server, proxy: Proxy, how: str) -> None:
    with connect(proxy.url) as env:
        env.reset()
        for count in range(1, 3 if how == "during the step" else 6):
            if how == "between calls":
                proxy.cut()
            elif how == "in place of the answer":
                proxy.cut_at_answer = True
            else:
                threading.Timer(0.2, proxy.cut).start()
            amount = 50 if how == "during the step" else 1
            result = env.step({"amount": amount})
            assert (result.observation["count"], result.recovered) == (count * amount, True)


def test_async_continues_after_a_cut(server: Server, proxy: Proxy) -> None:
    async def play() -> None:
        async with connect_async(proxy.url) as env:
            await env.reset()
            for count in range(1, 6):
                proxy.cut()
                result = await env.step({"amount": 1})
                assert (result.observation["count"], result.recovered) == (count, True)

    asyncio.run(play())


def test_without_resume_a_cut_loses_the_episode(server: Server, proxy: Proxy) -> None:
    with connect(proxy.url, resume=False) as env:
        env.reset()
        env.step({"amount": 1})
        proxy.cut()
        with pytest.raises(ConnectionLostError, match="SESSION_LOST"):
            env.step({"amount": 1})
        with pytest.raises(ConnectionLostError, match="Call reset"):
            env.step({"amount": 1})
        assert env.reset().observation["count"] == 0
        assert env.step({"amount": 1}).observation["count"] == 1


def test_a_server_that_has_ended_is_an_error_and_never_a_result() -> None:
    server = Server()
    env = connect(server.url, timeout=8)
    env.reset()
    port = server.port
    server.kill()
    with pytest.raises(ConnectionLostError):
        env.step({"amount": 1})
    with pytest.raises(ConnectionLostError, match="CONNECTION_FAILED"):
        env.reset()
    again = Server(port=port)
    assert env.reset().observation["count"] == 0
    env.close()
    again.kill()


def test_a_call_that_takes_too_long_ends_the_session(server: Server) -> None:
    with connect(server.url) as env:
        env.reset()
        with pytest.raises(ConnectionLostError, match="CLIENT_TIMEOUT"):
            env.step({"amount": 50}, timeout=0.1)
        with pytest.raises(ConnectionLostError, match="SESSION_LOST"):
            env.step({"amount": 1})
        assert env.reset().observation["count"] == 0


def test_copies_continue_by_themselves(server: Server) -> None:
    with connect(server.url) as env:
        env.reset()
        env.step({"amount": 3})
        copies = env.fork(3)
        counts = [copy.step({"amount": nth}).observation["count"] for nth, copy in enumerate(copies)]
        assert counts == [3, 4, 5]
        assert env.step({"amount": 1}).observation["count"] == 4
        for copy in copies:
            copy.close()


def test_closing_frees_the_slot() -> None:
    server = Server(MAX_CONCURRENT_ENVS="1")
    for _ in range(3):
        with connect(server.url) as env:
            env.reset()
            with connect(server.url) as other, pytest.raises(RemoteError, match="CAPACITY_REACHED"):
                other.reset()
    server.kill()


def test_answers_pings_between_calls() -> None:
    server = Server(PING_INTERVAL="4")
    with connect(server.url, resume=False) as env:
        env.reset()
        # Longer than the server waits: a peer that misses two pings loses its session.
        time.sleep(14)
        assert env.step({"amount": 1}).observation["count"] == 1
    server.kill()


def test_refuses_what_is_not_a_server(server: Server) -> None:
    with connect("http://127.0.0.1:9") as env, pytest.raises(ConnectionLostError, match="CONNECTION_FAILED"):
        env.reset()
    with connect(server.url + "/nothing") as env, pytest.raises(RemoteError, match="CONNECTION_FAILED"):
        env.reset()


def test_async_calls_run_one_after_the_other() -> None:
    server = Server(MAX_CONCURRENT_ENVS="1")

    async def play() -> list[StepResult[dict[str, Any]]]:
        async with connect_async(server.url) as env:
            await asyncio.gather(env.reset(), env.state())
            return await asyncio.gather(*(env.step({"amount": amount}) for amount in (1, 2, 3)))

    results = asyncio.run(play())
    assert [(result.reward, result.observation["count"]) for result in results] == [(1, 1), (2, 3), (3, 6)]
    server.kill()


def test_closing_ends_a_running_call(server: Server) -> None:
    async def play() -> None:
        env = connect_async(server.url)
        await env.reset()
        stepping = asyncio.create_task(env.step({"amount": 50}))
        await asyncio.sleep(0.2)
        await env.close()
        with pytest.raises(ConnectionLostError, match="CLIENT_CLOSED"):
            await stepping

    asyncio.run(play())


def test_a_lost_episode_needs_a_reset_that_succeeds(proxy: Proxy) -> None:
    with connect(proxy.url, resume=False) as env:
        env.reset()
        proxy.cut()
        with pytest.raises(ConnectionLostError, match="SESSION_LOST"):
            env.step({"amount": 1})
        with pytest.raises(RemoteError, match="VALIDATION_ERROR"):
            env.reset(seed="x")
        with pytest.raises(ConnectionLostError, match="SESSION_LOST"):
            env.step({"amount": 1})
        env.reset()
        assert env.step({"amount": 1}).observation["count"] == 1


@pytest.mark.parametrize("resume", [None, False])
def test_a_reset_opens_a_session_again_that_was_lost_between_calls(resume: bool | None) -> None:
    server = Server()
    with connect(server.url, resume=resume) as env:
        env.reset()
        server.kill()
        server = Server(port=server.port)
        assert env.reset().observation["count"] == 0
        assert env.step({"amount": 1}).observation["count"] == 1
    server.kill()


def test_an_answer_that_is_not_a_result_loses_the_episode(proxy: Proxy) -> None:
    with connect(proxy.url) as env:
        env.reset()
        for damage in ((b'"done"', b'"none"'), (b'"reward":123', b'"reward":NaN')):
            proxy.replace = damage
            with pytest.raises(ConnectionLostError, match="PROTOCOL_ERROR"):
                env.step({"amount": 123})
            proxy.replace = (b"", b"")
            with pytest.raises(ConnectionLostError, match="SESSION_LOST"):
                env.step({"amount": 1})
            assert env.reset().observation["count"] == 0


@pytest.mark.parametrize("kind", ["blocking", "asyncio"])
def test_a_request_that_cannot_be_sent_ends_at_the_timeout(proxy: Proxy, kind: str) -> None:
    action = {"text": "x" * 60_000_000}
    began = time.monotonic()
    if kind == "blocking":
        with connect(proxy.url) as env:
            env.reset()
            proxy.stopped.set()
            with pytest.raises(ConnectionLostError, match="CLIENT_TIMEOUT"):
                env.step(action, timeout=1)
    else:

        async def play() -> None:
            async with connect_async(proxy.url) as env:
                await env.reset()
                proxy.stopped.set()
                with pytest.raises(ConnectionLostError, match="CLIENT_TIMEOUT"):
                    await asyncio.wait_for(env.step(action, timeout=1), 45)

        asyncio.run(play())
    assert time.monotonic() - began < 45


def test_a_timeout_can_be_infinite(server: Server) -> None:
    with connect(server.url, timeout=float("inf"), connect_timeout=float("inf")) as env:
        env.reset()
        assert env.step({"amount": 1}).reward == 1
        assert env.get("/metadata")

    async def play() -> None:
        async with connect_async(server.url, timeout=float("inf")) as env:
            await env.reset()

    asyncio.run(play())


@pytest.mark.parametrize("kind", ["blocking", "asyncio"])
def test_a_copy_that_cannot_be_opened_leaves_none_open(kind: str) -> None:
    server = Server(OPENENV_OPERATOR_TOKEN="operator")
    proxy = Proxy(server.url)

    async def play(env: AsyncEnv) -> None:
        async with env:
            await env.reset()
            # After the request, the first copy connects.
            proxy.refused = proxy.accepted + 3
            with pytest.raises(ConnectionLostError, match="CONNECTION_FAILED"):
                await env.fork(4)
            wait_for(lambda: opened(server.url) == 1)

    if kind == "asyncio":
        asyncio.run(play(connect_async(proxy.url)))
    else:
        run(play(connect(proxy.url)._env))
    proxy.close()
    server.kill()


def test_an_address_of_secure_websockets_sends_nothing_in_clear_text() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"wss://127.0.0.1:{listener.getsockname()[1]}"
        received: list[bytes] = []

        def accept() -> None:
            with listener.accept()[0] as client:
                received.append(client.recv(65_536))

        thread = threading.Thread(target=accept)
        thread.start()
        with connect(url, token="secret", timeout=5) as env, pytest.raises(ConnectionLostError):
            env.get("/schema")
        thread.join()
    assert received[0][:1] == b"\x16", "this is not the start of TLS"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_answers_pings_too(server: Server) -> None:
    with connect(server.url) as env:
        env.reset()
        child = os.fork()
        if child == 0:
            names = []
            try:
                with connect(server.url) as own:
                    own.reset()
                    names = [thread.name for thread in threading.enumerate()]
            finally:
                os._exit(0 if "openenv-ts keep-alive" in names else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert env.step({"amount": 1}).reward == 1
