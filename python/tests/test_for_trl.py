"""The class of for_trl, used as TRL does: a probe instance, methods of the class as tools, resets. Without torch."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, Optional

import pytest
from conftest import Proxy, Server, metric, opened, wait_for

from openenv_ts import ConnectionLostError, RemoteError, connect
from openenv_ts._agents import read_starts
from openenv_ts._sockets import run
from openenv_ts.trl import TrlEnvironment, episode_reward, for_trl

NAMES = ["call_class", "call_done", "call_lost", "fail", "give_back", "my_tool", "take"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server("tools.mjs", OPENENV_OPERATOR_TOKEN="operator")
    yield started
    started.kill()


def read_tools(environment: Any) -> dict[str, Any]:
    """The tools that TRL finds."""
    members = inspect.getmembers(type(environment), predicate=inspect.isfunction)
    return {name: getattr(environment, name) for name, _ in members if not name.startswith("_") and name != "reset"}


def play(environment: Any, tool: str, **arguments: Any) -> str:
    """The result of a tool call as TRL gives it to the model."""
    try:
        return str(read_tools(environment)[tool](**arguments))
    except Exception as error:
        return str({"error": str(error)})


def score(spec: Any, *environments: Any) -> list[Any]:
    return [func(prompts=[], completions=[], environments=list(environments)) for func in spec.reward_funcs]


@pytest.mark.parametrize("how", ["execution_error", "timeout", "transport_error"])
def test_a_tool_that_fails_through_no_fault_of_the_model_has_no_reward(server: Server, how: str) -> None:
    with for_trl(server.url) as spec:
        failed, played = spec.environment_factory(), spec.environment_factory()
        for one in (failed, played):
            one.reset(seed=1)
            play(one, "take", count=1)
        assert play(failed, "fail", how=how) == "The environment is not available."
        assert isinstance(failed.lost, RemoteError)
        assert failed.lost.code == "TOOL_FAILED"
        assert score(spec, failed, played) == [[None, 0.0]]
        assert spec.lost_rollouts == 1
        # The next rollout of the same instance is not lost.
        failed.reset(seed=2)
        assert play(failed, "my_tool") == "my-tool"
        assert score(spec, failed) == [[0.0]]


@pytest.mark.parametrize("how", ["invalid_args", "tool_not_found"])
def test_the_model_reads_what_it_did_wrong(server: Server, how: str) -> None:
    with for_trl(server.url) as spec:
        environment = spec.environment_factory()
        environment.reset(seed=1)
        assert "it failed" in play(environment, "fail", how=how)
        assert "count" in play(environment, "take", count=9)
        assert json.loads(play(environment, "take", count=2)) == {"count": 2, "a-b": "x"}
        assert environment.lost is None
        assert score(spec, environment) == [[0.0]]
        assert spec.lost_rollouts == 0


def test_opens_nothing_before_the_first_reset_and_has_no_other_methods(server: Server) -> None:
    before = metric(server.url, "openenv_sessions_opened_total")
    with for_trl(server.url) as spec:
        probe = spec.environment_factory()
        assert sorted(read_tools(probe)) == NAMES
        assert metric(server.url, "openenv_sessions_opened_total") == before
        assert probe.reset(seed=3) == "marbles 3"
        assert metric(server.url, "openenv_sessions_opened_total") == before + 1


def test_names_that_python_or_the_trainer_does_not_allow_are_mapped(server: Server) -> None:
    with for_trl(server.url) as spec:
        environment = spec.environment_factory()
        environment.reset()
        given = {name: play(environment, name) for name in ("call_class", "call_done", "call_lost", "my_tool")}
        assert given == {"call_class": "class", "call_done": "done", "call_lost": "lost", "my_tool": "my-tool"}
        assert json.loads(play(environment, "take", count=1, a_b="y")) == {"count": 1, "a-b": "y"}
        # No attribute of an instance hides a tool.
        assert not any(hasattr(TrlEnvironment(), name) for name in NAMES)


def test_names_that_are_equal_in_python_are_refused() -> None:
    server = Server("tools.mjs", SAME_NAME="1")
    with pytest.raises(ValueError, match="my_tool"):
        for_trl(server.url)
    server.kill()


def test_the_signature_and_docstring_come_from_the_schema(server: Server) -> None:
    with for_trl(server.url) as spec:
        take = read_tools(spec.environment_factory())["take"]
    parameters = inspect.signature(take).parameters
    assert next(iter(parameters)) == "count"
    assert {name: one.annotation for name, one in parameters.items()} == {
        "count": int,
        "color": Optional[Literal["red", "blue"]],  # noqa: UP045
        "a_b": Optional[str],  # noqa: UP045
    }
    assert parameters["count"].default is inspect.Parameter.empty
    lines = inspect.getdoc(take).splitlines()
    assert lines[:4] == ["Takes marbles.", "", "Args:", "    count: How many (at least 1, at most 5)"]


def test_the_model_gets_the_whole_schema_of_nested_arguments(server: Server) -> None:
    with for_trl(server.url) as spec:
        environment = spec.environment_factory()
        environment.reset()
        give_back = read_tools(environment)["give_back"]
        # A chat template gets a dictionary as it is.
        assert isinstance(give_back, dict)
        function = give_back["function"]
        assert (function["name"], function["description"]) == ("give_back", "Registers a return.")
        parameters = function["parameters"]
        assert parameters["required"] == ["the_items"]
        items = parameters["properties"]["the_items"]["items"]
        assert items["required"] == ["sku", "reason"]
        assert items["properties"]["sku"] == {"type": "string", "description": "Article number"}
        assert items["properties"]["reason"]["enum"] == ["broken", "late"]
        assert json.loads(json.dumps(give_back)) == give_back
        # TRL finds a tool by its name and calls it.
        assert give_back.__name__ == "give_back"
        assert give_back(the_items=[{"sku": "a", "reason": "late"}] * 2) == "2"
        assert "sku" in play(environment, "give_back", the_items=[{"reason": "late"}])
        # A template that asks for a signature instead has the schema in the description.
        assert list(inspect.signature(give_back).parameters) == ["the_items"]
        assert "Article number" in str(inspect.getdoc(give_back))


def test_transformers_renders_and_parses_the_tools(server: Server) -> None:
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    pytest.importorskip("jinja2")
    with for_trl(server.url) as spec:
        tools = list(read_tools(spec.environment_factory()).values())
        [text], _ = utils.render_jinja_template([[]], tools=tools, chat_template="{{ tools | tojson }}")
        assert json.loads(text) == tools
        for tool in tools:
            schema = utils.get_json_schema(tool)
            assert schema["function"]["name"] == tool.__name__


def test_a_lost_rollout_has_no_reward_from_any_function(server: Server) -> None:
    def own(environments: Any, **_: Any) -> list[float]:
        return [1.0 for _ in environments]

    async def waits(environments: Any, **_: Any) -> list[float]:
        await asyncio.sleep(0)
        return [2.0 for _ in environments]

    with for_trl(server.url, [own, waits]) as spec:
        lost, played = spec.environment_factory(), spec.environment_factory()
        for one in (lost, played):
            one.reset()
        play(lost, "fail", how="timeout")
        first, second = spec.reward_funcs
        # TRL asks whether a function is asynchronous.
        assert inspect.iscoroutinefunction(second)
        assert first(environments=[lost, played]) == [None, 1.0]
        assert asyncio.run(second(environments=[lost, played])) == [None, 2.0]


def test_reward_functions_read_the_parts_of_the_reward_by_name() -> None:
    server = Server(RUBRIC="1", NO_TOOLS="1")

    def even(environments: Any, **_: Any) -> list[float]:
        return [one.components["even"] for one in environments]

    with for_trl(server.url, [episode_reward, even]) as spec:
        one, two = spec.environment_factory(), spec.environment_factory()
        for environment, amounts in ((one, (2, 2)), (two, (1, 1, 1))):
            environment.reset(seed=1)
            for amount in amounts:
                play(environment, "step", amount=amount)
        assert one.components == {"amount": 4, "even": 2}
        assert score(spec, one, two) == [[3, 2], [2, 1]]
        # The next episode begins without them.
        one.reset(seed=1)
        assert one.components == {}
    server.kill()


def test_sessions_are_closed_after_each_training(server: Server) -> None:
    spec = for_trl(server.url)
    environment = spec.environment_factory()
    for _ in range(2):
        environment.reset()
        assert opened(server.url) == 1
        spec.close()
        assert opened(server.url) == 0
    with spec:
        environment.reset()
        assert opened(server.url) == 1
    assert opened(server.url) == 0


def test_the_callback_closes_the_sessions(server: Server) -> None:
    pytest.importorskip("transformers")
    spec = for_trl(server.url)
    environment = spec.environment_factory()
    for _ in range(2):
        environment.reset()
        assert opened(server.url) == 1
        spec.callback.on_train_end(None, None, None)
        assert opened(server.url) == 0


def test_sessions_are_closed_at_exit(server: Server) -> None:
    code = f"""
from openenv_ts.trl import for_trl
spec = for_trl("{server.url}")
environment = spec.environment_factory()
environment.reset()
spec.close()
environment.reset()
"""
    before = metric(server.url, "openenv_sessions_opened_total")
    subprocess.run([sys.executable, "-c", code], check=True)
    assert metric(server.url, "openenv_sessions_opened_total") == before + 2
    assert opened(server.url) == 0


def reset_in_background(environment: Any, **row: Any) -> Future[str]:
    pool = ThreadPoolExecutor(1)
    future = pool.submit(environment.reset, **row)
    pool.shutdown(wait=False)
    return future


@pytest.mark.parametrize("played", [False, True])
def test_a_reset_waits_for_a_server_that_restarts_without_a_journal(played: bool) -> None:
    first = Server("tools.mjs")
    proxy = Proxy(first.url)
    spec = for_trl(proxy.url)
    environment = spec.environment_factory()
    try:
        if played:
            environment.reset(seed=1)
            play(environment, "take", count=1)
        first.kill()
        tried = proxy.accepted
        future = reset_in_background(environment, seed=2)
        wait_for(lambda: proxy.accepted > tried + 1)
        assert not future.done()
        second = Server("tools.mjs", port=first.port)
        try:
            assert future.result(timeout=60) == "marbles 2"
            assert play(environment, "my_tool") == "my-tool"
            assert score(spec, environment) == [[0.0]]
            assert spec.lost_rollouts == 0
            spec.close()
        finally:
            second.kill()
    finally:
        proxy.close()


@pytest.mark.parametrize("played", [False, True])
def test_a_reset_marks_the_rollout_as_lost_after_the_outage_and_never_raises(played: bool) -> None:
    first = Server("tools.mjs")
    spec = for_trl(first.url, outage=5.0, timeout=5.0)
    environment = spec.environment_factory()
    if played:
        environment.reset(seed=1)
    first.kill()
    for lost in (1, 2):
        assert environment.reset(seed=2) == ""
        assert isinstance(environment.lost, ConnectionLostError)
        assert play(environment, "take", count=1) == "The environment is not available."
        assert score(spec, environment) == [[None]]
        assert spec.lost_rollouts == lost
    second = Server("tools.mjs", port=first.port)
    try:
        spec.outage = 60
        assert environment.reset(seed=3) == "marbles 3"
        assert environment.lost is None
        assert score(spec, environment) == [[0.0]]
        spec.close()
    finally:
        second.kill()


@pytest.mark.parametrize("queue", ["0", "1"])
def test_a_reset_waits_while_the_server_is_full(queue: str) -> None:
    server = Server(
        "tools.mjs",
        MAX_CONCURRENT_ENVS="1",
        QUEUE_SIZE=queue,
        QUEUE_TIMEOUT="0.2",
        OPENENV_OPERATOR_TOKEN="operator",
    )
    try:
        other = connect(server.url)
        other.reset()
        with for_trl(server.url) as spec:
            environment = spec.environment_factory()
            future = reset_in_background(environment, seed=2)
            wait_for(lambda: metric(server.url, "openenv_rejections_total") > 1)
            assert not future.done()
            other.close()
            assert future.result(timeout=60) == "marbles 2"
            assert spec.lost_rollouts == 0
    finally:
        server.kill()


def test_a_reset_marks_the_rollout_as_lost_when_the_server_stays_full() -> None:
    server = Server("tools.mjs", MAX_CONCURRENT_ENVS="1", OPENENV_OPERATOR_TOKEN="operator")
    try:
        with connect(server.url) as other, for_trl(server.url, outage=0.3) as spec:
            other.reset()
            environment = spec.environment_factory()
            assert environment.reset(seed=2) == ""
            assert environment.lost.code == "CAPACITY_REACHED"
            assert score(spec, environment) == [[None]]
            assert spec.lost_rollouts == 1
            other.close()
            wait_for(lambda: opened(server.url) == 0)
            assert environment.reset(seed=3) == "marbles 3"
            assert score(spec, environment) == [[0.0]]
    finally:
        server.kill()


def test_only_a_server_without_tasks_has_seeds(server: Server) -> None:
    with connect(server.url) as client:
        assert run(read_starts(client._env, "train", 2)) == [{"seed": 0}, {"seed": 1}]
    tasks = Server(TASKS="1")
    with connect(tasks.url) as client:
        assert len(run(read_starts(client._env, "train", 9))) == 2
        with pytest.raises(RemoteError, match="unknown split"):
            run(read_starts(client._env, "trian", 9))
    tasks.kill()


def test_a_result_that_cannot_be_read_is_a_lost_rollout() -> None:
    server = Server(NO_TOOLS="1")
    with for_trl(server.url) as spec:
        environment = spec.environment_factory()
        environment.reset(seed=1)
        assert play(environment, "step", amount=53) == "The environment is not available."
        assert environment.lost.code == "PROTOCOL_ERROR"
        assert score(spec, environment) == [[None]]
    server.kill()


def test_a_reset_has_no_reward_and_can_end_the_episode() -> None:
    server = Server(NO_TOOLS="1", OVER="1")
    with for_trl(server.url) as spec:
        environment = spec.environment_factory()
        environment.reset()
        assert (environment.done, environment.rewards) == (True, [])
        assert play(environment, "step", amount=1) == "The episode has ended."
        assert score(spec, environment) == [[0]]
    server.kill()


def test_closing_sessions_of_a_server_that_does_not_answer_takes_a_moment() -> None:
    server = Server(NO_TOOLS="1")
    spec = for_trl(server.url)
    for _ in range(20):
        spec.environment_factory().reset()
    server.stop()
    began = time.monotonic()
    spec.close()
    assert time.monotonic() - began < 20
    server.kill()
