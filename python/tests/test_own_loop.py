"""The code of the page with faults; docs/code.system.test.ts runs its script."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Proxy, Server, opened, wait_for

from openenv_ts import ConnectionLostError

PAGE = Path(__file__).parents[2] / "docs/guide/train/own-loop.md"


def read_code(file: str, until: str = "") -> str:
    [code] = re.findall(rf"^```python file={file}.*?\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return code[: code.index(until)] if until else code


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server("text.mjs", MAX_STEPS="5", OPENENV_OPERATOR_TOKEN="operator")
    yield started
    started.kill()


def play(url: str, texts: list[str], before: Callable[[], None] = lambda: None) -> Any:
    script: dict[str, Any] = {}
    # A dataclass looks for its module.
    script["__name__"] = __name__
    exec(read_code("own_loop.py", "async def generate"), script)
    left = iter(texts)

    async def generate(ids: list[int]) -> tuple[list[int], list[float]]:
        before()
        written = script["encode"](next(left))
        return written, [-0.5] * len(written)

    return asyncio.run(script["play"](url, 7, generate))


def test_cuts_change_nothing(server: Server, proxy: Proxy) -> None:
    def cut() -> None:
        proxy.cut_at_answer = True

    undisturbed = play(server.url, ["a", "bb", "stop"])
    disturbed = play(proxy.url, ["a", "bb", "stop"], cut)
    assert not proxy.cut_at_answer
    assert vars(disturbed) == vars(undisturbed)
    assert disturbed.reward == 7
    assert bytes(disturbed.prompt_ids).decode() == '{"prompt": "seed 7"}'
    written = [one for one, mask in zip(disturbed.response_ids, disturbed.mask, strict=True) if mask]
    assert bytes(written).decode() == "abbstop"
    assert [one == -0.5 for one in disturbed.logprobs] == [mask == 1 for mask in disturbed.mask]
    wait_for(lambda: opened(server.url) == 0)


def test_a_lost_rollout_has_no_reward(server: Server) -> None:
    assert play(server.url, ["a", "lose"]).reward is None
    assert play(server.url, ["a", "stop"]).reward == 5


def test_a_limit_is_no_end_of_the_task(server: Server) -> None:
    assert play(server.url, ["a"] * 5).truncated
    assert not play(server.url, ["a"] * 4 + ["stop"]).truncated


def test_skyrl_plays_the_class_of_the_page(
    server: Server, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skyrl_gym = pytest.importorskip("skyrl_gym")
    (tmp_path / "skyrl_env.py").write_text(read_code("skyrl_env.py").replace("http://localhost:8000", proxy.url))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "skyrl_env", raising=False)
    skyrl_gym.register("remote", entry_point="skyrl_env:RemoteTextEnv")
    env = skyrl_gym.make("remote", env_config={}, extras={"seed": 3})
    messages, _ = env.init([{"role": "system", "content": "Write."}])
    assert messages[-1] == {"role": "user", "content": "seed 3"}
    results = []
    for text in ("a", "bb", "stop"):
        proxy.cut_at_answer = True
        results.append(env.step(text))
    assert [result["reward"] for result in results] == [1, 2, 4]
    assert [result["done"] for result in results] == [False, False, True]
    assert results[1]["observations"] == [{"role": "user", "content": "seed 3 a bb"}]
    env.init([])
    with pytest.raises(ConnectionLostError):
        env.step("lose")
    env.close()
    wait_for(lambda: opened(server.url) == 0)
