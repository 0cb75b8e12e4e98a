"""Calls of many sessions that are taken as they arrive, interrupted, or ended by a deadline."""

from __future__ import annotations

import asyncio
import time

import pytest
from conftest import Server, counts, interrupted_after, metric, opened, wait_for

from openenv_ts import AsyncVectorEnv, ConnectionLostError, VectorEnv, VectorResult, connect
from openenv_ts._sockets import run


def test_results_as_they_arrive(server: Server) -> None:
    with VectorEnv(server.url, 3, own_sockets=True) as envs:
        envs.reset()
        [first] = envs.as_completed([{"amount": 50}, {"amount": 1}, None], count=1)
        assert (first.index, first.reward) == (1, 1)
        with pytest.raises(ValueError, match="pending"):
            envs.step([{"amount": 1}, None, None])
        rest = list(envs.as_completed([None, None, {"amount": 2}]))
        assert [(result.index, result.reward) for result in rest] == [(2, 2), (0, 50)]


def test_a_loop_that_stops_early_loses_no_result(server: Server) -> None:
    with VectorEnv(server.url, 4, own_sockets=True) as envs:
        envs.reset()
        for first in envs.as_completed([{"amount": 1}] * 4):
            seen = [first.index]
            break
        seen += [result.index for result in envs.as_completed([None] * 4)]
        assert sorted(seen) == [0, 1, 2, 3]


def test_results_that_are_pending_when_the_client_is_closed_are_lost(server: Server) -> None:
    with VectorEnv(server.url, 3, own_sockets=True) as envs:
        envs.reset()
        [first] = envs.as_completed([{"amount": 50}, {"amount": 1}, {"amount": 50}], count=1)
        assert first.index == 1
        envs.close()
        codes = {result.index: result.metadata["error_code"] for result in envs.as_completed([None] * 3)}
        assert codes == {0: "CLIENT_CLOSED", 2: "CLIENT_CLOSED"}


def test_a_result_that_is_not_taken_yet_is_pending(server: Server) -> None:
    with VectorEnv(server.url, 4, own_sockets=True) as envs:
        envs.reset()
        actions = [{"amount": 1}] * 4
        taken = {result.index for result in envs.as_completed(actions, count=1)}
        # The others arrive, and are read with the next one.
        time.sleep(1)
        taken |= {result.index for result in envs.as_completed([None] * 4, count=1)}
        for index in {0, 1, 2, 3} - taken:
            with pytest.raises(ValueError, match="pending"):
                envs.reset([{} if one == index else None for one in range(4)])
        with pytest.raises(ValueError, match="pending"):
            envs.state()
        assert [result.reward for result in envs.as_completed([None] * 4)] == [1, 1]
        assert counts(envs.reset()) == [0] * 4


def test_closing_ends_a_running_call(server: Server) -> None:
    async def play() -> VectorResult | None:
        envs = AsyncVectorEnv(server.url, 1)
        await envs.reset()
        stepping = asyncio.create_task(envs.step([{"amount": 50}]))
        await asyncio.sleep(0.2)
        await envs.close()
        return (await stepping)[0]

    result = asyncio.run(play())
    assert result is not None
    assert (result.outcome, result.metadata["error_code"]) == ("lost", "CLIENT_CLOSED")


def test_after_an_interrupted_call_no_result_is_that_of_another_call(server: Server) -> None:
    with VectorEnv(server.url, 40, own_sockets=True) as envs:
        envs.reset()
        with interrupted_after(0.3):
            envs.step([{"amount": 50}] * 40)
        assert {result and result.outcome for result in envs.step([{"amount": 1}] * 40)} == {"lost"}
        assert counts(envs.reset()) == [0] * 40
        assert counts(envs.step([{"amount": 2}] * 40)) == [2] * 40


def test_an_answer_that_was_not_read_is_not_that_of_the_next_call(server: Server) -> None:
    with connect(server.url) as env:
        env.reset()
        # As an interrupt between the two parts of a call.
        run(env._env._connection.submit({"type": "step", "data": {"amount": 3}}, float("inf")))
        with pytest.raises(ConnectionLostError, match="interrupted"):
            env.step({"amount": 1})
        assert env.reset().observation["count"] == 0


def test_closing_after_an_interrupt_does_not_wait_for_the_answer() -> None:
    server = Server()
    envs = VectorEnv(server.url, 3, own_sockets=True)
    envs.reset()
    server.stop()
    with interrupted_after(0.5):
        envs.step([{"amount": 1}] * 3)
    began = time.monotonic()
    envs.close()
    assert time.monotonic() - began < 30
    server.kill()


@pytest.mark.parametrize("kind", ["blocking", "asyncio"])
def test_a_server_that_is_gone_delays_no_other_result(server: Server, kind: str) -> None:
    gone = Server()
    actions, urls = [{"amount": 50}] * 4, [server.url, gone.url]
    if kind == "blocking":
        with VectorEnv(urls, 4, own_sockets=True) as envs:
            envs.reset()
            places = envs.places()
            gone.kill()
            results = list(envs.as_completed(actions, timeout=8))
    else:

        async def play() -> tuple[list[str | None], list[VectorResult]]:
            async with AsyncVectorEnv(urls, 4, own_sockets=True) as envs:
                await envs.reset()
                gone.kill()
                places = envs.places()
                return places, [result async for result in envs.as_completed(actions, timeout=8)]

        places, results = asyncio.run(play())
    assert [result.outcome for result in results] == ["terminated", "terminated", "lost", "lost"]
    assert {places[result.index] for result in results[:2]} == {server.url}


def test_nothing_is_sent_after_the_deadline() -> None:
    server = Server(OPENENV_OPERATOR_TOKEN="operator")
    with VectorEnv(server.url, 3, own_sockets=True, concurrency=1) as envs:
        envs.reset()
        results = list(envs.as_completed([{"amount": 50}, {"amount": 1}, {"amount": 1}], timeout=0.3))
        assert [result.metadata["error_code"] for result in results] == ["CLIENT_TIMEOUT"] * 3
        wait_for(lambda: opened(server.url) == 0)
        assert metric(server.url, "openenv_steps_total") <= 1
        assert counts(envs.reset()) == [0] * 3
    server.kill()
