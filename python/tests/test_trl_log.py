"""What for_trl adds to the log of TRL, and to what a server records. Without torch."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path
from typing import Any

from conftest import Server, wait_for

from openenv_ts.trl import for_trl


def test_the_log_of_trl_has_the_session_and_the_episode_of_each_rollout() -> None:
    server = Server("tools.mjs", OPENENV_OPERATOR_TOKEN="operator")
    columns: dict[str, list[Any]] = {}

    def log(*environments: Any) -> None:
        columns.clear()
        spec.reward_funcs[0](environments=list(environments), log_extra=columns.__setitem__)

    try:
        with for_trl(server.url) as spec:
            first, second = spec.environment_factory(), spec.environment_factory()
            first.reset(seed=1)
            second.reset(seed=1, episode_id="mine")
            assert first.group_id != second.group_id
            log(first, second)
            states = [one._env.state()["episode_id"] for one in (first, second)]
            assert columns["openenv/episode_id"] == states == [first.episode_id, "mine"]
            assert columns["openenv/lost"] == [None, None]
            assert columns["openenv/server"][0] == columns["openenv/server"][1] != server.url
            request = urllib.request.Request(f"{server.url}/sessions", headers={"authorization": "Bearer operator"})
            with urllib.request.urlopen(request) as answer:
                ids = json.dumps(json.load(answer))
            links = columns["openenv/link"]
            assert links == [first.link, second.link]
            assert len(set(links)) == 2
            for link, handle in zip(links, columns["openenv/session"], strict=True):
                assert re.fullmatch(re.escape(server.url) + r"/web/#/session/[\w-]{12}", link)
                # Neither the id nor its beginning is in the address.
                assert handle not in link
            for handle in columns["openenv/session"]:
                assert len(handle) == 8
                assert handle in ids
            second.fail(how="timeout")
            log(first, second)
            assert columns["openenv/lost"][0] is None
            assert columns["openenv/lost"][1].startswith("TOOL_FAILED")
    finally:
        server.kill()


def test_a_recorded_rollout_has_the_run_and_its_step(tmp_path: Path) -> None:
    server = Server("tools.mjs", OPENENV_STORE=str(tmp_path / "store"))
    try:
        with for_trl(server.url) as spec:
            environment = spec.environment_factory()
            for step in range(2):
                spec._begin_step("grpo-17", step)
                environment.reset(seed=7)
                assert environment.group_id == '{"seed":7}'

        def rows() -> list[tuple[str, int, str]]:
            with urllib.request.urlopen(f"{server.url}/rollouts?sort=policy") as answer:
                return [(row["run"], row["policy"], row["group"]) for row in json.load(answer)["rows"]]

        wait_for(lambda: rows() == [("grpo-17", 0, "seed 7"), ("grpo-17", 1, "seed 7")])
    finally:
        server.kill()
