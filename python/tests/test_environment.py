"""RemoteEnvironment behind the released server of ``openenv``, which the released client plays."""

from __future__ import annotations

import contextlib
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from conftest import Proxy, Server, metric, opened, wait_for

pytest.importorskip("openenv")

import uvicorn
from openenv import GenericEnvClient
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation, ListToolsAction
from openenv.core.mcp_client import MCPToolClient

from openenv_ts import ConnectionLostError, OpenEnvError, RemoteError
from openenv_ts.environment import RemoteAction, RemoteEnvironment, RemoteObservation, RemoteToolEnvironment


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server(TASKS="1", OPENENV_OPERATOR_TOKEN="operator")
    yield started
    started.kill()


@contextlib.contextmanager
def front(url: str, kind: Any = RemoteEnvironment, *classes: Any) -> Iterator[str]:
    """The released server, with environments whose sessions are on the server at ``url``."""
    classes = classes or (RemoteAction, RemoteObservation)
    app = create_app(partial(kind, url, timeout=20), *classes, max_concurrent_envs=8)
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        wait_for(lambda: running.started)
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join()


def test_the_released_client_plays_an_episode(server: Server) -> None:
    before = metric(server.url, "openenv_sessions_opened_total")
    with front(server.url) as url:
        # The server makes environments that are never played: none opens a session.
        assert metric(server.url, "openenv_sessions_opened_total") == before
        with GenericEnvClient(base_url=url).sync() as client:
            first = client.reset(seed=3)
            assert first.observation["count"] == 0
            assert (first.reward, first.done) == (None, False)
            again = client.reset(seed=3, episode_id="mine")
            assert again.observation["start"] == first.observation["start"]
            results = [client.step({"amount": amount}) for amount in (1, 2)]
            assert [(one.observation["count"], one.reward, one.done) for one in results] == [
                (1, 1, False),
                (3, 2, False),
            ]
            state = client.state()
            assert (state["episode_id"], state["step_count"]) == ("mine", 2)
            last = client.step({"amount": 9})
            assert last.done
            assert "truncated" not in last.observation
            assert opened(server.url) == 1
        wait_for(lambda: opened(server.url) == 0)


def test_no_step_is_repeated_or_lost_when_connections_are_cut(server: Server, proxy: Proxy) -> None:
    with front(proxy.url) as url, GenericEnvClient(base_url=url).sync() as client:
        client.reset(seed=1)
        counts = []
        for turn in range(30):
            # In turn: a connection that is idle, and an answer that does not arrive.
            if turn % 3 == 1:
                proxy.cut()
            proxy.cut_at_answer = turn % 3 == 2
            counts.append(client.step({"amount": 0 if turn % 2 else -1}).observation["count"])
        assert counts == [-(turn // 2 + 1) for turn in range(30)]
        assert client.state()["step_count"] == 30
        assert proxy.accepted > 15


def test_a_limit_is_seen_in_the_observation(server: Server) -> None:
    environment = RemoteEnvironment(server.url)
    environment.reset()
    observation = environment.step(RemoteAction(amount=52))
    assert (observation.done, observation.truncated) == (True, True)
    assert environment.state.step_count == 1
    environment.close()


def test_an_invalid_action_is_an_error_and_the_episode_continues(server: Server) -> None:
    with front(server.url) as url, GenericEnvClient(base_url=url).sync() as client:
        client.reset()
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            client.step({"much": 1})
        assert client.step({"amount": 1}).observation["count"] == 1
    environment = RemoteEnvironment(server.url)
    environment.reset()
    with pytest.raises(RemoteError):
        environment.step(RemoteAction(much=1))
    assert environment.lost is None
    environment.close()


def test_a_lost_episode_raises_until_the_next_reset(server: Server) -> None:
    environment = RemoteEnvironment(server.url)
    environment.reset()
    environment.step(RemoteAction(amount=1))
    with pytest.raises(ConnectionLostError) as raised:
        environment.step(RemoteAction(amount=54))
    assert environment.lost is raised.value
    # A program that sums rewards and closes the environment must not return the sum.
    for _ in range(2):
        with pytest.raises(ConnectionLostError):
            environment.close()
    assert environment.reset().count == 0
    assert environment.lost is None
    environment.close()
    assert opened(server.url) == 0


def test_a_front_whose_server_is_lost_answers_with_an_error() -> None:
    running = Server()
    try:
        with front(running.url) as url, GenericEnvClient(base_url=url).sync() as client:
            client.reset()
            running.kill()
            running = Server(port=running.port)
            with pytest.raises(RuntimeError, match="SESSION_LOST"):
                client.step({"amount": 1})
            # The next episode is in a new session.
            assert client.reset().observation["count"] == 0
    finally:
        running.kill()


def test_a_reset_waits_for_a_server_that_is_away() -> None:
    running = Server()
    environment = RemoteEnvironment(running.url, timeout=2)
    environment.reset()
    running.kill()
    started: list[Server] = []
    thread = threading.Timer(1, lambda: started.append(Server(port=running.port)))
    thread.start()
    try:
        assert environment.reset().count == 0
        environment.close()
    finally:
        thread.join()
        started[0].kill()


def test_tools_are_those_of_the_session(server: Server) -> None:
    classes = (RemoteToolEnvironment, CallToolAction, CallToolObservation)
    with front(server.url, *classes) as url, MCPToolClient(base_url=url).sync() as client:
        client.reset()
        assert [tool.name for tool in client.list_tools()] == ["add"]
        called = [client.call_tool("add", amount=4)["result"]["data"] for _ in range(2)]
        assert called == [4, 8]
    for kind in (RemoteEnvironment, RemoteToolEnvironment):
        environment = kind(server.url)
        environment.reset()
        [tool] = environment.step(ListToolsAction()).tools
        assert tool.input_schema["required"] == ["amount"]
        called = environment.step(CallToolAction(tool_name="add", arguments={"amount": 3}))
        assert (called.result["data"], called.error) == (3, None)
        wrong = environment.step(CallToolAction(tool_name="add", arguments={"amount": "much"}))
        assert wrong.error["error_type"] == "invalid_args"
        assert environment.lost is None
        environment.close()


def test_a_tool_that_fails_through_no_fault_of_the_model_loses_the_episode() -> None:
    running = Server("tools.mjs")
    try:
        environment = RemoteEnvironment(running.url)
        environment.reset()
        failed = environment.step(CallToolAction(tool_name="fail", arguments={"how": "timeout"}))
        assert "it failed" in failed.error["message"]
        with pytest.raises(OpenEnvError, match="TOOL_FAILED"):
            environment.close()
    finally:
        running.kill()


def test_a_tool_call_that_loses_the_session_loses_the_episode(server: Server) -> None:
    environment = RemoteToolEnvironment(server.url)
    environment.reset()
    with contextlib.suppress(OpenEnvError):
        environment.step(CallToolAction(tool_name="add", arguments={"amount": 54}))
    with pytest.raises(OpenEnvError):
        environment.close()


def test_tasks_and_metadata_are_those_of_the_server(server: Server) -> None:
    environment = RemoteEnvironment(server.url)
    assert environment.get_metadata().name == "counter_env"
    assert [split["name"] for split in environment.list_splits()] == ["train"]
    assert environment.num_tasks("train") == 2
    assert environment.get_task("train", 1)["from"] == 2
    assert [task["from"] for task in environment.list_tasks("train")] == [1, 2]
    assert [task["from"] for task in environment.get_task_range("train", 1)] == [2]
    with pytest.raises(IndexError):
        environment.get_task("train", 9)
    assert environment.state.step_count == 0
    environment.close()


def test_a_server_without_tasks_is_one_without_tasks() -> None:
    running = Server()
    try:
        with front(running.url) as url:
            request = urllib.request.Request(f"{url}/RemoteEnvironment/splits")
            with pytest.raises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(request)
            assert raised.value.code in (404, 501)
        with pytest.raises(NotImplementedError):
            RemoteEnvironment(running.url).num_tasks("train")
    finally:
        running.kill()


def test_many_sessions_at_the_same_time(server: Server) -> None:
    with front(server.url) as url:
        clients = [GenericEnvClient(base_url=url).sync() for _ in range(8)]
        for client in clients:
            client.reset()
        for index, client in enumerate(clients):
            assert client.step({"amount": -index}).observation["count"] == -index
        assert opened(server.url) == 8
        for client in clients:
            client.close()
    wait_for(lambda: opened(server.url) == 0)
