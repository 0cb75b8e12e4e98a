"""Calls whose asyncio task is cancelled."""

from __future__ import annotations

import asyncio
import time

import pytest
from conftest import Proxy, Server, counts
from hostile import HostileServer

from openenv_ts import AsyncVectorEnv, ConnectionLostError, connect_async


@pytest.mark.parametrize("resume", [None, False])
def test_a_cancelled_call_never_counts_and_the_session_continues(server: Server, resume: bool | None) -> None:
    async def play() -> None:
        async with connect_async(server.url, **({} if resume is None else {"resume": resume})) as env:
            await env.reset()
            began = time.monotonic()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(env.step({"amount": 50}), 0.1)
            step = asyncio.create_task(env.step({"amount": 1}))
            # It waits for the code of the cancelled step, and is cancelled before it runs.
            await asyncio.sleep(0.1)
            step.cancel()
            with pytest.raises(asyncio.CancelledError):
                await step
            # The code of the first step has run to its end.
            assert (await env.step({"amount": 2})).observation["count"] == 52
            assert time.monotonic() - began >= 1
            assert (await env.state())["step_count"] == 1

    asyncio.run(play())


def test_a_call_that_is_cancelled_while_its_connection_is_lost_is_cancelled_on_the_next_one(proxy: Proxy) -> None:
    async def play() -> None:
        async with connect_async(proxy.url) as env:
            await env.reset()
            step = asyncio.create_task(env.step({"amount": 50}))
            await asyncio.sleep(0.2)
            proxy.cut()
            await asyncio.sleep(0)
            step.cancel()
            with pytest.raises(asyncio.CancelledError):
                await step
            assert (await env.step({"amount": 2})).observation["count"] == 52
            assert (await env.state())["step_count"] == 1

    asyncio.run(play())


def test_a_cancelled_call_of_a_server_that_cannot_cancel_ends_the_session(hostile: HostileServer) -> None:
    async def play() -> None:
        async with connect_async(hostile.url) as env:
            await env.reset()
            hostile.on_step = lambda _write, _seq: None
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(env.step({"amount": 1}), 0.1)
            with pytest.raises(ConnectionLostError, match="the server cannot cancel it"):
                await env.step({"amount": 1})

    asyncio.run(play())


@pytest.mark.parametrize("own_sockets", [False, True])
def test_after_a_cancelled_call_the_sessions_continue(server: Server, own_sockets: bool) -> None:
    async def play() -> None:
        async with AsyncVectorEnv(server.url, 3, own_sockets=own_sockets) as envs:
            await envs.reset()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(envs.step([{"amount": 50}, {"amount": 1}, {"amount": 50}]), 0.3)
            assert counts(await envs.step([{"amount": 2}] * 3)) == [52, 3, 52]
            # Before anything is sent.
            step = asyncio.create_task(envs.step([{"amount": 1}] * 3))
            step.cancel()
            with pytest.raises(asyncio.CancelledError):
                await step
            assert counts(await envs.step([{"amount": 2}] * 3)) == [54, 5, 54]

    asyncio.run(play())
