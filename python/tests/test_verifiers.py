"""Evaluations of verifiers with a scripted model. They need ``pip install ./python[verifiers]``."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import Proxy, Server

pytest.importorskip("verifiers")

import tomllib
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

from openenv_ts import connect

Call = tuple[str, dict[str, Any]]


class Model:
    """The API of OpenAI. The answer of turn n is the tool call n of the script, then text."""

    def __init__(self, script: Sequence[Call | str]) -> None:
        self.requests: list[dict[str, Any]] = []
        self.before_answer: Callable[[int], None] = lambda turn: None
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.requests.append(body)
                turn = sum(message["role"] == "assistant" for message in body["messages"])
                model.before_answer(turn)
                answer = json.dumps(_complete(turn, script[turn] if turn < len(script) else "done")).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()


def _complete(turn: int, answer: Call | str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer if isinstance(answer, str) else None}
    if not isinstance(answer, str):
        function = {"name": answer[0], "arguments": json.dumps(answer[1])}
        message["tool_calls"] = [{"id": f"call_{turn}", "type": "function", "function": function}]
    reason = "stop" if isinstance(answer, str) else "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choices = [{"index": 0, "finish_reason": reason, "message": message}]
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The package stores files in the home folder, and reads a login from it.
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def model() -> Iterator[Callable[[Sequence[Call | str]], Model]]:
    started: list[Model] = []

    def start(script: Sequence[Call | str]) -> Model:
        started.append(Model(script))
        return started[-1]

    yield start
    for one in started:
        one.close()


def evaluate(url: str, model: Model, folder: Path, **settings: Any) -> list[Any]:
    """Returns the trace of each rollout."""
    agent = {"harness": {"id": "openenv-ts-verifiers", **settings.pop("harness", {})}, **settings.pop("agent", {})}
    taskset = {"id": "openenv-ts-verifiers", "url": url, "seeds": 2, **settings.pop("taskset", {})}
    config = EvalConfig.model_validate(
        {
            "env": {"taskset": taskset, "agent": agent},
            "model": "m",
            "client": {"base_url": model.url},
            "rich": None,
            "push": False,
            "output_dir": folder,
            **settings,
        }
    )
    return [trace for episode in asyncio.run(run_eval(config)) for trace in episode.traces]


def test_plays_with_the_tools_of_the_environment(server: Server, model: Any, tmp_path: Path) -> None:
    scripted = model([("add", {"amount": 4}), ("add", {"amount": "much"}), ("nothing", {}), ("add", {"amount": 6})])
    traces = evaluate(server.url, scripted, tmp_path)
    assert [(trace.ok, trace.errors, trace.metrics["steps"]) for trace in traces] == [(True, [], 3)] * 2
    [tool] = scripted.requests[0]["tools"]
    assert tool["function"]["name"] == "add"
    assert tool["function"]["parameters"]["properties"]["amount"]["type"] == "integer"
    told = [message["content"] for message in scripted.requests[-1]["messages"] if message["role"] == "tool"]
    assert told[0] == "4"
    assert told[1].startswith("error: ")
    assert told[2] == 'error: there is no tool "nothing"'


def test_rewards_are_those_of_the_episode_and_groups_start_alike(model: Any, tmp_path: Path) -> None:
    server = Server(NO_TOOLS="1", MAX_CONCURRENT_ENVS="4")
    scripted = model([("step", {"amount": 4}), ("step", {"amount": 5}), ("step", {"amount": 1})])
    traces = evaluate(server.url, scripted, tmp_path, num_rollouts=2)
    assert [trace.reward for trace in traces] == [10] * 4
    assert [trace.metrics["done"] for trace in traces] == [1] * 4
    # The episode ended the rollout, so the model was not asked again.
    assert len(scripted.requests) == 12
    firsts = [next(one for one in trace.nodes if one.message.role == "user").message.content for trace in traces]
    assert len(set(firsts)) == 2
    # All sessions are closed: as many fit in again.
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(connect(server.url)).reset()
    server.kill()


def test_a_reset_has_no_reward_and_can_end_the_episode(model: Any, tmp_path: Path) -> None:
    server = Server(OVER="1")
    scripted = model([("add", {"amount": 4})])
    [trace] = evaluate(server.url, scripted, tmp_path, taskset={"seeds": 1})
    assert (trace.ok, trace.reward, trace.metrics["done"], scripted.requests) == (True, 0, 1, [])
    server.kill()


def test_metrics_have_the_parts_of_the_reward_by_name(model: Any, tmp_path: Path) -> None:
    server = Server(RUBRIC="1", NO_TOOLS="1")
    scripted = model([("step", {"amount": 4}), ("step", {"amount": 3})])
    [trace] = evaluate(server.url, scripted, tmp_path, taskset={"seeds": 1})
    assert trace.reward == 4
    assert trace.metrics == {"steps": 2, "done": 0, "truncated": 0, "amount": 7, "even": 1}
    server.kill()


def test_a_cut_changes_nothing(proxy: Proxy, model: Any, tmp_path: Path) -> None:
    scripted = model([("add", {"amount": 2}), ("add", {"amount": 3})])
    scripted.before_answer = lambda turn: proxy.cut()
    [trace] = evaluate(proxy.url, scripted, tmp_path, taskset={"seeds": 1})
    told = [message["content"] for message in scripted.requests[-1]["messages"] if message["role"] == "tool"]
    assert (trace.ok, told) == (True, ["2", "5"])


def test_a_lost_rollout_is_an_error_and_has_no_reward(model: Any, tmp_path: Path) -> None:
    server = Server(NO_TOOLS="1")
    scripted = model([("step", {"amount": 4}), ("step", {"amount": 5})])
    scripted.before_answer = lambda turn: server.kill() if turn == 1 else None
    [trace] = evaluate(server.url, scripted, tmp_path, taskset={"seeds": 1}, harness={"timeout": 5, "outage": 5})
    assert len(scripted.requests) == 2
    assert (trace.ok, trace.stop_condition, trace.rewards) == (False, "harness_error", {})
    assert "ConnectionLostError" in trace.errors[0].message


@pytest.mark.parametrize(("how", "ok"), [("execution_error", False), ("timeout", False), ("invalid_args", True)])
def test_a_failed_tool_is_an_error_unless_the_model_was_wrong(how: str, ok: bool, model: Any, tmp_path: Path) -> None:
    server = Server("tools.mjs")
    scripted = model([("take", {"count": 1}), ("fail", {"how": how})])
    [trace] = evaluate(server.url, scripted, tmp_path, taskset={"seeds": 1})
    assert (trace.ok, trace.rewards == {}) == (ok, not ok)
    assert ok or "TOOL_FAILED" in trace.errors[0].message
    server.kill()


def test_a_rollout_that_is_stopped_during_an_outage_has_no_reward(model: Any, tmp_path: Path) -> None:
    server = Server(NO_TOOLS="1")
    scripted = model([("step", {"amount": 4}), ("step", {"amount": 5})])
    scripted.before_answer = lambda turn: server.kill() if turn == 1 else None
    [trace] = evaluate(server.url, scripted, tmp_path, taskset={"seeds": 1}, agent={"timeout": {"rollout": 8}})
    assert len(scripted.requests) == 2
    assert (trace.ok, trace.is_timeout) == (False, True)
    assert "had not answered" in trace.errors[0].message


def test_a_limit_of_verifiers_scores_what_was_played(model: Any, tmp_path: Path) -> None:
    server = Server(NO_TOOLS="1")
    scripted = model([("step", {"amount": 1})] * 9)
    [trace] = evaluate(server.url, scripted, tmp_path, taskset={"seeds": 1}, agent={"max_turns": 2})
    assert (trace.ok, trace.stop_condition, trace.reward) == (True, "max_turns", 2)
    server.kill()


def test_has_a_task_for_each_task_of_the_split(model: Any, tmp_path: Path) -> None:
    server = Server(TASKS="1")
    traces = evaluate(server.url, model([]), tmp_path)
    assert [trace.task.data.reset for trace in traces] == [
        {"split": "train", "index": 0},
        {"split": "train", "index": 1},
    ]
    server.kill()


def test_the_script_of_the_guide_runs(model: Any, tmp_path: Path) -> None:
    server = Server(NO_TOOLS="1")
    scripted = model([("step", {"amount": 4}), ("step", {"amount": 6})])
    page = (Path(__file__).parents[2] / "docs/guide/train/verifiers.md").read_text()
    code = page.split("```python file=evaluate.py\n")[1].split("```")[0]
    code = code.replace("http://localhost:8000", server.url).replace("http://localhost:8001/v1", scripted.url)
    paths = {"PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    ran = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, env={**os.environ, **paths}
    )
    assert ran.stdout.splitlines() == [
        f"{seed} 10.0 {{'steps': 2.0, 'done': 1.0, 'truncated': 0.0}}" for seed in (0, 1) for _ in range(4)
    ], ran.stderr
    command = page.split("```sh\n")[1].split("```")[0].split("\n", 1)[1].replace("\\\n", " ")
    command = command.replace("http://localhost:8000", server.url).replace("http://localhost:8001/v1", scripted.url)
    arguments = shlex.split(command)
    program = str(Path(sys.executable).with_name(arguments[0]))
    subprocess.run(
        [program, *arguments[1:], "-o", str(tmp_path)], check=True, capture_output=True, env={**os.environ, **paths}
    )
    [traces] = tmp_path.glob("*/traces.jsonl")
    assert len(traces.read_text().splitlines()) == 80
    server.kill()


def test_prime_rl_names_an_environment_as_its_page_does(
    model: Callable[[Sequence[Call | str]], Model], tmp_path: Path
) -> None:
    page = (Path(__file__).parents[2] / "docs/guide/train/prime-rl.md").read_text()
    [block] = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    server = Server(NO_TOOLS="1")
    try:
        [source] = tomllib.loads(block.replace("http://localhost:8000", server.url))["orchestrator"]["train"]["source"]
        scripted = model([("step", {"amount": 4}), ("step", {"amount": 6})])
        traces = evaluate(server.url, scripted, tmp_path, **source["env"])
        assert {trace.reward for trace in traces} == {10}
    finally:
        server.kill()
