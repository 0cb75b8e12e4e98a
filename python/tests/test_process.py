"""Processes: forks, exceptions that cross them, and programs that end without closing their clients."""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from conftest import Server, metric, opened, wait_for

import openenv_ts
from openenv_ts import ConnectionLostError, OpenEnvError, RemoteError, VectorEnv, connect, connect_async

SRC = str(Path(openenv_ts.__file__).parents[1])


def in_a_fork(function: Any) -> str:
    """What a function raises in a forked process, as text."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, str(function()).encode())
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_a_client_refuses_calls_in_a_forked_process_and_names_both(server: Server) -> None:
    with connect(server.url) as env, VectorEnv(server.url, 2) as envs:
        env.reset()
        envs.reset()
        env.step({"amount": 1})
        calls = [
            lambda: env.step({"amount": 1}),
            env.reset,
            env.state,
            env.list_tools,
            lambda: env.fork(1),
            lambda: envs.step([{"amount": 1}] * 2),
            envs.reset,
            envs.state,
        ]
        for call in calls:
            text = in_a_fork(lambda call=call: (f"{os.getpid()} ", call()))
            assert text.startswith("OpenEnvError: CLIENT_CLOSED: The client is used in process ")
            assert f"belong to process {os.getpid()}," in text
        # Leaving a with block in the child ends nothing.
        assert in_a_fork(lambda: (env.close(), envs.close())) == "(None, None)"
        assert env.step({"amount": 1}).observation["count"] == 2
        assert [one.observation["count"] for one in envs.step([{"amount": 1}] * 2)] == [1, 1]


@needs_fork
def test_an_asyncio_client_refuses_calls_in_a_forked_process(server: Server) -> None:
    async def play() -> None:
        async with connect_async(server.url) as env:
            await env.reset()
            text = in_a_fork(lambda: env.step({"amount": 1}).send(None))
            assert f"belong to process {os.getpid()}," in text
            assert (await env.step({"amount": 1})).observation["count"] == 1

    asyncio.run(play())


@needs_fork
def test_a_client_that_was_not_used_before_a_fork_works_in_each_process(server: Server) -> None:
    with connect(server.url) as env:
        assert in_a_fork(lambda: (env.reset(), env.step({"amount": 3}).reward)[1]) == "3"
        env.reset()
        assert env.step({"amount": 2}).observation["count"] == 2


# These import what is not installed for these tests.
NEEDS_MORE = ("environment", "verifiers", "verl")


def all_errors() -> list[BaseException]:
    modules = [
        import_module(f"openenv_ts.{one.name}")
        for one in iter_modules(openenv_ts.__path__)
        if one.name not in NEEDS_MORE
    ]
    found = {
        one
        for module in modules
        for one in vars(module).values()
        if inspect.isclass(one) and issubclass(one, BaseException) and one.__module__.startswith("openenv_ts")
    }
    given: dict[str, tuple[Any, ...]] = {
        "RemoteError": ("EXECUTION_ERROR", "it failed", {"openenv_code": "ENV_FAILED", "errors": [1]}),
        "SocketClosedError": (1006, "gone"),
        "HandshakeRefusedError": (503, "full"),
        "ToolFailedError": ("wrong",),
    }
    return [one(*given.get(one.__name__, ("SESSION_LOST", "it is gone"))) for one in found]


@pytest.mark.parametrize("error", all_errors(), ids=lambda error: type(error).__name__)
def test_every_exception_survives_pickling(error: BaseException) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), repr(copy), vars(copy)) == (str(error), repr(error), vars(error))


def test_ray_can_match_exceptions() -> None:
    """Ray raises an instance of a class that is made like this one, and pickles it when a task is nested."""

    class TaskError(Exception):
        pass

    def combine(cause: OpenEnvError) -> Any:
        class Combined(TaskError, type(cause)):  # type: ignore[misc]
            def __init__(self, cause: OpenEnvError) -> None:
                self.cause = cause
                self.args = (cause,)

            def __getattr__(self, name: str) -> Any:
                return getattr(self.cause, name)

        return Combined(cause)

    cause = pickle.loads(pickle.dumps(RemoteError("VALIDATION_ERROR", "no", {"fault": "client"})))
    error = combine(cause)
    assert isinstance(error, RemoteError)
    assert (error.code, error.message, error.fault, error.details) == (
        "VALIDATION_ERROR",
        "no",
        "client",
        cause.details,
    )
    made = error.__reduce__()
    assert made[1] == (cause,)
    assert isinstance(pickle.loads(pickle.dumps(made[1][0])), RemoteError)


def work(url: str, seed: int) -> float:
    with connect(url) as env:
        env.reset(seed=seed)
        return env.step({"amount": "x" if seed == 2 else 1}).reward or 0


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_an_exception_of_a_process_of_a_pool_reaches_the_caller(server: Server, how: str) -> None:
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip(f"needs {how}")
    context = multiprocessing.get_context(how)
    given = [(server.url, seed) for seed in range(4)]
    with ProcessPoolExecutor(2, mp_context=context) as executor, pytest.raises(RemoteError, match="VALIDATION_ERROR"):
        list(executor.map(work, *zip(*given, strict=True)))
    with context.Pool(2) as pool, pytest.raises(RemoteError, match="VALIDATION_ERROR"):
        pool.starmap_async(work, given).get(timeout=60)


PROGRAMS = {
    "blocking": """
from openenv_ts import VectorEnv, connect
one, many, own = connect(url), VectorEnv(url, 3), VectorEnv(url, 2, own_sockets=True)
for env in (one, many, own):
    env.reset()
""",
    "asyncio": """
import asyncio
from openenv_ts import AsyncVectorEnv, connect_async
async def play():
    await connect_async(url).reset()
    await AsyncVectorEnv(url, 3).reset()
asyncio.run(play())
""",
    "an exception": """
from openenv_ts import connect
env = connect(url)
env.reset()
raise SystemExit(0)
""",
    "a process of multiprocessing": """
import multiprocessing
from openenv_ts import connect
def play():
    global env
    env = connect(url)
    env.reset()
if __name__ == "__main__":
    child = multiprocessing.get_context("fork").Process(target=play)
    child.start()
    child.join()
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_that_ends_without_close_releases_its_sessions(program: str) -> None:
    server = Server(OPENENV_OPERATOR_TOKEN="operator")
    code = f"import sys; sys.path.insert(0, {SRC!r}); url = {server.url!r}\n{PROGRAMS[program]}"
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    assert metric(server.url, "openenv_sessions_opened_total") > 0
    wait_for(lambda: opened(server.url) == 0)
    server.kill()


def test_a_program_ends_soon_without_an_answer_of_its_server() -> None:
    server = Server()
    code = f"""
import os, signal, sys; sys.path.insert(0, {SRC!r})
from openenv_ts import connect
envs = [connect({server.url!r}) for _ in range(10)]
for env in envs:
    env.reset()
os.killpg({server.process.pid}, signal.SIGSTOP)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    server.kill()


def test_an_interrupted_call_of_many_sockets_leaves_no_warning() -> None:
    server = Server(MAX_CONCURRENT_ENVS="100")
    code = f"""
import os, signal, sys, threading; sys.path.insert(0, {SRC!r})
from openenv_ts import VectorEnv
envs = VectorEnv({server.url!r}, 48, own_sockets=True)
envs.reset()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    envs.step([{{"amount": 50}}] * 48)
except KeyboardInterrupt:
    print("interrupted")
envs.close()
"""
    ended = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, timeout=100, check=True
    )
    assert ended.stdout == "interrupted\n"
    assert "never awaited" not in ended.stderr
    server.kill()


def test_a_lost_session_is_not_a_mistake_in_the_program() -> None:
    assert not isinstance(OpenEnvError("CLIENT_CLOSED", ""), (ConnectionLostError, RemoteError))
