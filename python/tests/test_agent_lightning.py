"""The agent of the page, started by the controller of Agent Lightning for each rollout, with cuts and a lost one."""

from __future__ import annotations

import contextlib
import http.server
import json
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Proxy, wait_for
from test_own_loop import read_code

httpx = pytest.importorskip("httpx")
pytest.importorskip("agentlightning.server.app")

MODEL = "scripted"


class Model(http.server.BaseHTTPRequestHandler):
    """Says what the script of the rollout says next, and cuts the connection of the environment."""

    texts: dict[str, list[str]]
    proxy: Proxy

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.proxy.cut_at_answer = True
        first = body["messages"][0]["content"]
        text = self.texts[first].pop(0)
        token_ids = list(text.encode())
        logprobs = {"content": [{"logprob": -0.5} for _ in token_ids]}
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "token_ids": token_ids, "logprobs": logprobs}
        prompt_token_ids = list(json.dumps(body["messages"]).encode())
        answer = json.dumps({"choices": [choice], "prompt_token_ids": prompt_token_ids}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def running(module: str, folder: Path, *options: str) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-m", module, *options], cwd=folder, start_new_session=True)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def free_port() -> int:
    """Below the ephemeral ports, so that no other process is given it before the server listens."""
    for port in random.sample(range(25_000, 32_000), 100):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


@pytest.fixture
def lightning(tmp_path: Path, text_proxies: list[Proxy]) -> Iterator[Any]:
    """A client of Agent Lightning, with a model, and with its controller, which finds the agent."""
    proxy = text_proxies[0]
    code = read_code("agent_lightning_agent.py").replace("http://localhost:8000", proxy.url)
    (tmp_path / "agent_lightning_agent.py").write_text(code)
    Model.proxy = proxy
    models = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=models.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{(port := free_port())}"
    given = [f"port={port}", "host=127.0.0.1", "key=secret", f"default_proxy.model_name={MODEL}"]
    local = ["runner_type=local", "local_runner.poll_interval=0.2"]
    controller = [f"agl_server.url={url}", "agl_server.key=secret", *local]
    with (
        running("agentlightning.server", tmp_path, *given),
        httpx.Client(base_url=url, headers={"authorization": "Bearer secret"}) as client,
    ):
        wait_for(lambda: is_up(client), 120)
        endpoint = f"http://127.0.0.1:{models.server_port}/v1"
        client.post("/api/models", json=[{"model": MODEL, "endpoint": endpoint}]).raise_for_status()
        with running("agentlightning.controller", tmp_path, *controller):
            yield client
    models.shutdown()


def is_up(client: Any) -> bool:
    try:
        return bool(client.get("/healthz").is_success)
    except httpx.TransportError:
        return False


def test_rollouts_have_their_tokens_and_rewards(lightning: Any) -> None:
    Model.texts = {"seed 7": ["a", "bb", "stop"], "seed 8": ["bb", "lose", "stop"], "seed 9": ["lose"] * 3}
    local = {"agent_class": "agent_lightning_agent:Agent", "env_map": {"SEED": "input.seed"}}
    rollouts = [{"input": {"seed": seed}, "config": {"local": local}} for seed in (7, 8, 9)]
    created = lightning.post("/api/rollouts", json=rollouts).raise_for_status().json()
    ids = [one["rollout_id"] for one in created]

    def states() -> list[str]:
        return [lightning.get(f"/api/rollouts/{one}").json()["rollout"]["status"]["state"] for one in ids]

    wait_for(lambda: not {"queuing", "running"} & set(states()), 180)
    assert states() == ["succeeded", "succeeded", "failed"]
    events = [lightning.get(f"/api/rollouts/{one}/events", params={"format": "triplet"}).json() for one in ids]
    rewards = [[one["data"]["value"] for one in of if one["event_type"] == "reward"] for of in events]
    # The last one was lost three times: no reward is made up for it.
    assert rewards == [[7], [4], []]
    turns = [one["data"] for one in events[0] if one["event_type"] == "model_request"]
    assert [bytes(one["response_token_ids"]).decode() for one in turns] == ["a", "bb", "stop"]
    assert turns[2]["response_log_probs"] == [-0.5] * 4
