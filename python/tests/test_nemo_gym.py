"""The resources server "openenv" of NeMo Gym over HTTP with a scripted model; its environments are remote."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Proxy, Server, metric, opened, wait_for
from trainers import stand_in

LARGE = ("ray", "mlflow", "datasets", "wandb", "yappi", "devtools", "anthropic", "gprof2dot", "pydot")
stand_in("nemo-gym", *LARGE)
pytest.importorskip("openenv")

import httpx
import uvicorn
from nemo_gym.server_utils import ServerClient
from resources_servers.openenv.app import OpenEnvResourcesServer, OpenEnvResourcesServerConfig

PAGE = Path(__file__).parents[2] / "docs/guide/train/nemo-gym.md"
TOOL = {"action_class": "openenv.core.env_server.mcp_types.CallToolAction", "is_mcp": True}
ACTION = {"action_class": "openenv_ts.environment.RemoteAction", "is_mcp": False}
RESPONSE: dict[str, Any] = {"id": "1", "created_at": 0, "model": "scripted", "object": "response", "output": []}
RESPONSE |= {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
VERIFY = {"responses_create_params": {"input": "Count."}, "response": RESPONSE}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server(OPENENV_OPERATOR_TOKEN="operator")
    yield started
    started.kill()


@pytest.fixture
def gym(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Starts the resources server with the module of the page."""
    [code] = re.findall(r"^```python file=remote_envs.py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    monkeypatch.syspath_prepend(str(tmp_path))

    @contextlib.contextmanager
    def start(url: str, **options: Any) -> Iterator[httpx.Client]:
        name = f"remote_envs_{url.rsplit(':', 1)[1]}"
        (tmp_path / f"{name}.py").write_text(code.replace("http://localhost:8000", url))
        config = {"host": "127.0.0.1", "port": 0, "entrypoint": "", "name": "library", "domain": "agent"}
        given = {**config, "env_class": f"{name}.library", **options}
        made = OpenEnvResourcesServer(
            config=OpenEnvResourcesServerConfig(**given), server_client=ServerClient.model_construct()
        )
        running = uvicorn.Server(uvicorn.Config(made.setup_webserver(), port=0, log_level="warning"))
        thread = threading.Thread(target=running.run)
        thread.start()
        try:
            wait_for(lambda: running.started)
            port = running.servers[0].sockets[0].getsockname()[1]
            headers = {"connection": "close"}
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
                yield client
        finally:
            running.should_exit = True
            thread.join()

    return start


def test_an_action_is_a_step_and_verify_returns_the_sum(gym: Any, server: Server, proxy: Proxy) -> None:
    with gym(proxy.url, **ACTION, reset_kwargs={"seed": 3}) as client:
        assert client.post("/seed_session", json=VERIFY).status_code == 200
        for turn, count in enumerate((1, 2, 3, 4), 1):
            proxy.cut_at_answer = True
            answer = client.post("/step", json={"amount": 1}).json()
            assert (answer["count"], answer["reward"], answer["done"]) == (count, 1, False)
            assert turn == count
        assert "VALIDATION_ERROR" in client.post("/step", json={"much": 1}).json()["error"]
        assert client.post("/step", json={"amount": 9}).json()["done"]
        assert client.post("/step", json={"amount": 1}).json()["error"] == "Episode has ended."
        assert client.post("/verify", json=VERIFY).json()["reward"] == 13
        assert opened(server.url) == 0


def test_tools_are_routes(gym: Any, server: Server) -> None:
    before = metric(server.url, "openenv_sessions_opened_total")
    with gym(server.url, **TOOL) as client:
        # It has looked at the tools in a session of an environment that it closed.
        assert metric(server.url, "openenv_sessions_opened_total") == before + 1
        assert opened(server.url) == 0
        client.post("/seed_session", json=VERIFY)
        answers = [client.post("/add", json={"amount": 2}).json() for _ in range(2)]
        assert [(answer["result"]["data"], answer["error"]) for answer in answers] == [(2, None), (4, None)]
        assert client.post("/verify", json=VERIFY).json()["reward"] == 0
        assert opened(server.url) == 0


def test_a_lost_rollout_has_no_reward(gym: Any, server: Server) -> None:
    with gym(server.url, **ACTION) as client:
        client.post("/seed_session", json=VERIFY)
        assert client.post("/step", json={"amount": 3}).json()["reward"] == 3
        assert "SESSION_LOST" in client.post("/step", json={"amount": 54}).json()["error"]
        # Also when it is asked again.
        assert [client.post("/verify", json=VERIFY).status_code for _ in range(2)] == [500, 500]
        client.post("/seed_session", json=VERIFY)
        assert client.post("/step", json={"amount": 4}).json()["reward"] == 4
        assert client.post("/verify", json=VERIFY).json()["reward"] == 4
