from __future__ import annotations

import asyncio
import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Proxy, Server, counts

from openenv_ts import AsyncVectorEnv, RemoteError, VectorEnv, VectorResult, connect


@pytest.mark.parametrize("own_sockets", [False, True])
def test_steps_many_sessions(server: Server, own_sockets: bool) -> None:
    with VectorEnv(server.url, 40, own_sockets=own_sockets) as envs:
        assert all(result is not None and result.began for result in envs.reset())
        results = envs.step([{"amount": index} if index % 2 else None for index in range(40)])
        assert counts(results) == [index if index % 2 else None for index in range(40)]
        assert [state["step_count"] for state in envs.state() if isinstance(state, dict)] == [0, 1] * 20
        with pytest.raises(ValueError, match="one value for each"):
            envs.step([None])


def test_more_sessions_than_a_socket_has(server: Server) -> None:
    with VectorEnv(server.url, 1100) as envs:
        envs.reset()
        assert counts(envs.step([{"amount": 1}] * 1100)) == [1] * 1100


@pytest.mark.parametrize("own_sockets", [False, True])
def test_an_invalid_action_fails_alone(server: Server, own_sockets: bool) -> None:
    with VectorEnv(server.url, 3, own_sockets=own_sockets) as envs:
        envs.reset()
        results = envs.step([{"amount": 1}, {"amount": "x"}, {"amount": float("inf")}])
        assert [result and result.outcome for result in results] == ["ok", "env_error", "env_error"]
        assert all(result is not None and result.reward is None for result in results[1:])
        refused = results[1] and results[1].error
        place = refused and (refused.details.get("session"), refused.details.get("step"))
        assert place == ((None, None) if own_sockets else (1, 1))
        assert counts(envs.step([{"amount": 1}] * 3)) == [2, 1, 1]


@pytest.mark.parametrize("own_sockets", [False, True])
def test_continues_after_cuts(proxy: Proxy, own_sockets: bool) -> None:
    with VectorEnv(proxy.url, 16, own_sockets=own_sockets) as envs:
        envs.reset()
        for count in range(1, 6):
            proxy.cut()
            results = envs.step([{"amount": 1}] * 16)
            assert counts(results) == [count] * 16
            assert all(result is not None and result.recovered for result in results)
        assert envs.recoveries()["sessions"] == 80


def test_calls_tools_and_says_what_they_returned(server: Server) -> None:
    with VectorEnv(server.url, 3, autoreset="next-step") as envs:
        envs.reset()
        calls = [{"name": "add", "arguments": {"amount": 2}}, {"name": "add", "arguments": {"amount": "much"}}, None]
        added, wrong, skipped = envs.call_tools(calls)
        assert added is not None
        assert added.tool is not None
        assert (added.outcome, added.tool.data, added.tool.error) == ("ok", 2, None)
        assert wrong is not None
        assert wrong.tool is not None
        assert (wrong.outcome, wrong.tool.data, wrong.tool.error_type) == ("ok", None, "invalid_args")
        assert skipped is None
        envs.step([{"amount": 8}, None, None])
        [begun, *_] = envs.call_tools([calls[0], None, None])
        assert begun is not None
        assert (begun.began, begun.tool) == (True, None)


def test_the_state_of_a_lost_session_is_a_failure() -> None:
    server = Server()
    with VectorEnv(server.url, 1, resume=False) as envs:
        envs.reset()
        server.kill()
        [failed] = envs.state()
        assert isinstance(failed, VectorResult)
        assert (failed.index, failed.outcome, failed.done, failed.reward) == (0, "lost", True, None)
        assert failed.error is not None
        assert failed.metadata == {"error_code": failed.error.code, "fault": "infrastructure", "lost": True}


@pytest.mark.parametrize("own_sockets", [False, True])
@pytest.mark.parametrize("resume", [False, True])
def test_a_session_that_its_environment_lost_is_masked(server: Server, own_sockets: bool, resume: bool) -> None:
    with VectorEnv(server.url, 2, own_sockets=own_sockets, resume=resume) as envs:
        envs.reset()
        lost, fine = envs.step([{"amount": 54}, {"amount": 1}])
        assert (lost.outcome, lost.reward, lost.fault) == ("lost", None, "infrastructure")
        assert "the simulator is gone" in str(lost.error)
        assert (fine.outcome, fine.reward) == ("ok", 1)
        again = envs.reset([{}, None])[0]
        assert again is not None
        assert again.observation is not None
        assert (again.observation["count"], again.reopened) == (0, True)
        assert [result.outcome for result in envs.step([{"amount": 1}, {"amount": 1}])] == ["ok", "ok"]


def test_names_are_those_of_the_typescript_client() -> None:
    client = Path(__file__).parents[2] / "packages/openenv/src/client"

    def names_in(file: str, start: str, member: str) -> set[str]:
        [text] = re.findall(
            rf"^export {re.escape(start)}\b.*?^}}", (client / file).read_text(), re.DOTALL | re.MULTILINE
        )
        names = re.findall(member, text, re.MULTILINE)
        return {re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name) for name in names}

    methods = names_in("vector/vector-env.ts", "class VectorEnv", r"^  (?:readonly |async )?\*?(\w+)(?:[(<:])")
    methods -= {"constructor"}
    assert methods >= {"size", "urls", "step", "call_tools", "as_completed", "reset_groups"}
    results = names_in("result.ts", "interface StepResult", r"^  readonly (\w+)") | {"error"}
    results |= names_in("result.ts", "interface VectorPosition", r"^  readonly (\w+)")
    options = names_in("options.ts", "interface VectorOptions", r"^  (\w+)[?:]")
    assert options == {"size", "autoreset", "reset_with", "concurrency", "own_sockets"}
    for kind in (VectorEnv, AsyncVectorEnv):
        assert methods - {"size", "urls"} <= set(dir(kind))
    assert {one.name for one in dataclasses.fields(VectorResult)} - {"tool"} == results
    # The number of sessions is the second argument.
    assert options - {"size"} <= set(inspect.signature(AsyncVectorEnv).parameters)


@pytest.mark.parametrize("own_sockets", [False, True])
def test_opens_and_calls_no_more_sessions_at_the_same_time_than_concurrency(own_sockets: bool) -> None:
    server = Server(MEASURE="1")

    def most(**options: Any) -> int:
        with VectorEnv(server.url, 12, own_sockets=own_sockets, **options) as envs:
            assert all(result is not None and result.outcome == "ok" for result in envs.reset())
            stepped = envs.step([{"amount": 1}] * 12)
            return max(counts([*stepped, *(envs.as_completed([{"amount": 1}] * 12) if own_sockets else [])]))

    assert most(concurrency=3) == 3
    assert most() > 3
    server.kill()


def test_parts_of_the_reward_have_names() -> None:
    server = Server(RUBRIC="1")
    with VectorEnv(server.url, 3) as envs:
        envs.reset()
        results = envs.step([{"amount": 2}, {"amount": 3}, None])
        assert [result and (result.reward, result.metadata) for result in results] == [
            (1.5, {"rubric_scores": {"amount": 2, "even": 1}}),
            (1.5, {"rubric_scores": {"amount": 3, "even": 0}}),
            None,
        ]
    with connect(server.url) as env:
        assert "rubric_scores" not in env.reset().metadata
        assert env.step({"amount": 1}).metadata["rubric_scores"] == {"amount": 1, "even": 0}
    server.kill()


def test_autoreset_next_step(server: Server) -> None:
    with VectorEnv(server.url, 2, autoreset="next-step", reset_with=lambda index: {"seed": index}) as envs:
        first = envs.reset([{"seed": 0}, {"seed": 1}])
        ended = envs.step([{"amount": 10}, {"amount": 1}])
        assert [result and result.outcome for result in ended] == ["terminated", "ok"]
        following = envs.step([{"amount": 5}, {"amount": 5}])
        assert [result and result.began for result in following] == [True, False]
        assert following[0] is not None
        assert first[0] is not None
        assert following[0].observation == first[0].observation


def test_autoreset_same_step(server: Server) -> None:
    with VectorEnv(server.url, 2, autoreset="same-step") as envs:
        envs.reset()
        results = envs.step([{"amount": 10}, {"amount": 1}])
        assert results[0] is not None
        assert results[0].done is True
        assert results[0].next is not None
        assert results[0].next.began
        assert counts(envs.step([{"amount": 1}, {"amount": 1}])) == [1, 2]


def test_copies_sessions(server: Server) -> None:
    with VectorEnv(server.url, 4) as envs:
        envs.reset()
        envs.step([{"amount": 3}, None, None, None])
        assert envs.fork([None, 0, 0, None]) == [None] * 4
        assert counts(envs.step([{"amount": 1}] * 4)) == [4, 4, 4, 1]
        with pytest.raises(ValueError, match="copied and replaced"):
            envs.fork([1, 0, None, None])


def test_opens_sessions_on_the_server_with_room() -> None:
    small, large = Server(MAX_CONCURRENT_ENVS="2"), Server(MAX_CONCURRENT_ENVS="20")
    with VectorEnv([small.url, large.url], 10) as envs:
        assert all(result is not None and result.outcome == "ok" for result in envs.reset())
        places = envs.places()
        assert (places.count(small.url), places.count(large.url)) == (2, 8)
        small.kill()
        results = envs.step([{"amount": 1}] * 10, timeout=15)
        outcomes = [result and result.outcome for result in results]
        assert outcomes == ["lost" if place == small.url else "ok" for place in places]
        again = envs.reset([{} if outcome == "lost" else None for outcome in outcomes])
        assert [result and result.reopened for result in again] == [
            True if outcome == "lost" else None for outcome in outcomes
        ]
        assert set(envs.places()) == {large.url}
    large.kill()


def test_a_full_server_rejects_only_what_has_no_room() -> None:
    server = Server(MAX_CONCURRENT_ENVS="3")
    with VectorEnv(server.url, 5) as envs:
        results = envs.reset()
        assert [result and result.outcome for result in results] == ["ok", "ok", "ok", "env_error", "env_error"]
        assert isinstance(results[4] and results[4].error, RemoteError)
    server.kill()


def test_async_steps_sessions_of_several_servers(server: Server) -> None:
    async def play() -> list[Any]:
        other = Server()
        async with AsyncVectorEnv([server.url, other.url], 6, own_sockets=True) as envs:
            await envs.reset()
            done = [result.index async for result in envs.as_completed([{"amount": 1}] * 6)]
            assert sorted(done) == list(range(6))
            results = counts(await envs.step([{"amount": 1}] * 6))
        other.kill()
        return results

    assert asyncio.run(play()) == [2] * 6


@pytest.mark.parametrize("fork", [False, True])
def test_episodes_of_a_group_begin_alike(server: Server, fork: bool) -> None:
    with VectorEnv(server.url, 6) as envs:
        first = envs.reset_groups([{"seed": 1}, {"seed": 2}], fork=fork)
        starts = [result.observation and result.observation["start"] for result in first]
        assert starts == [starts[0]] * 3 + [starts[3]] * 3
        assert starts[0] != starts[3]
        assert [(result.index, result.group_id, result.began) for result in first] == [
            (index, index // 3, True) for index in range(6)
        ]
        stepped = envs.step([{"amount": index} for index in range(6)])
        assert counts(stepped) == list(range(6))
        assert [result and result.group_id for result in stepped] == [0, 0, 0, 1, 1, 1]
        # Another reset leaves the group.
        again = envs.reset([{}, *[None] * 5])
        assert again[0] is not None
        assert again[0].group_id is None
        with pytest.raises(ValueError, match="6 sessions cannot be divided into 4 groups"):
            envs.reset_groups([{}] * 4)


def test_a_group_that_has_no_start_has_failures() -> None:
    server = Server(MAX_CONCURRENT_ENVS="3")
    with VectorEnv(server.url, 6) as envs:
        results = envs.reset_groups([{"seed": 1}, {"seed": 2}], fork=True)
        assert [result.outcome for result in results].count("ok") == 2
        assert all(result.error is not None for result in results if result.outcome != "ok")
        assert [result.group_id for result in results] == [0, 0, 0, 1, 1, 1]
    server.kill()


def test_marks_of_results_are_in_their_metadata() -> None:
    started = Server()
    with VectorEnv(started.url, 4, own_sockets=True, timeout=10) as envs:
        assert [result and result.metadata for result in envs.reset()] == [{}] * 4
        groups = envs.reset_groups([{"seed": 1}, {"seed": 2}])
        assert [result.metadata for result in groups] == [{"group_id": group} for group in (0, 0, 1, 1)]
        results = envs.step([{"amount": 1}, {"amount": 52}, {"amount": "x"}, None])
        assert [result and result.metadata for result in results] == [
            {"group_id": 0},
            {"group_id": 0, "truncated": True},
            {"group_id": 1, "error_code": "VALIDATION_ERROR", "fault": "client"},
            None,
        ]
        started.kill()
        lost = envs.step([{"amount": 1}, None, {"amount": 1}, {"amount": 1}], timeout=2)
        marks = {"error_code": "CLIENT_TIMEOUT", "fault": "infrastructure", "lost": True}
        assert [result and result.metadata for result in lost] == [
            {"group_id": 0, **marks},
            None,
            {"group_id": 1, **marks},
            {"group_id": 1, **marks},
        ]
        assert [result.reward for result in lost if result is not None] == [None] * 3


def test_async_calls_run_one_after_the_other() -> None:
    server = Server(MAX_CONCURRENT_ENVS="2")

    async def play() -> None:
        async with AsyncVectorEnv(server.url, 2) as envs:
            await asyncio.gather(envs.reset(), envs.state())
            steps = [envs.step([{"amount": amount}, None]) for amount in (1, 2, 3)]
            results = [result for result, _ in await asyncio.gather(*steps)]
            assert [(result.reward, result.observation["count"]) for result in results if result] == [
                (1, 1),
                (2, 3),
                (3, 6),
            ]

    asyncio.run(play())
    server.kill()


@pytest.mark.parametrize("fork", [False, True])
def test_a_group_that_fails_does_not_continue_its_old_episodes(server: Server, fork: bool) -> None:
    with VectorEnv(server.url, 4) as envs:
        envs.reset()
        results = envs.reset_groups([{"seed": 1}, {"seed": "x"}], fork=fork)
        assert [(result.outcome, result.group_id) for result in results] == [("ok", 0)] * 2 + [("env_error", 1)] * 2
        stepped = envs.step([{"amount": 1}] * 4)
        assert [result and (result.outcome, result.group_id) for result in stepped] == [("ok", 0)] * 2 + [
            ("lost", 1)
        ] * 2


@pytest.mark.parametrize("own_sockets", [False, True])
def test_an_answer_that_is_not_a_result_loses_the_episode(proxy: Proxy, own_sockets: bool) -> None:
    with VectorEnv(proxy.url, 2, own_sockets=own_sockets) as envs:
        envs.reset()
        proxy.replace = (b'"done"', b'"none"')
        assert [result and result.outcome for result in envs.step([{"amount": 1}] * 2)] == ["lost"] * 2
        proxy.replace = (b"", b"")
        assert [result and result.outcome for result in envs.step([{"amount": 1}] * 2)] == ["lost"] * 2
        assert counts(envs.reset()) == [0] * 2


def test_same_step_keeps_results_when_there_are_no_options_for_a_reset(server: Server) -> None:
    def refuse(index: int) -> Any:
        raise LookupError("no seeds left")

    with VectorEnv(server.url, 2, autoreset="same-step", reset_with=refuse) as envs:
        envs.reset()
        ended, other = envs.step([{"amount": 10}, {"amount": 1}])
        assert ended is not None
        assert other is not None
        assert (ended.reward, ended.done, ended.next, other.reward) == (10, True, None, 1)
        with pytest.raises(LookupError, match="no seeds left"):
            envs.step([{"amount": 1}] * 2)
        # Nothing was sent.
        assert counts(envs.step([None, {"amount": 1}])) == [None, 2]


def test_refuses_an_autoreset_that_does_not_exist(server: Server) -> None:
    with pytest.raises(ValueError, match="'same_step'"):
        VectorEnv(server.url, 1, autoreset="same_step")
