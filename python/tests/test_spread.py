"""Sessions that move between the servers behind an address."""

from __future__ import annotations

import socket
import urllib.request

from conftest import Proxy, Server, counts, opened, wait_for

from openenv_ts import VectorEnv, connect


def test_sessions_leave_a_paused_server_at_their_next_reset() -> None:
    variables = {"OPENENV_OPERATOR_TOKEN": "operator"}
    servers = [Server(**variables), Server(**variables)]
    urls = [server.url for server in servers]
    try:
        with VectorEnv(urls, 4) as envs, connect(urls[0]) as env:
            envs.reset()
            env.reset()
            assert [opened(url) for url in urls] == [3, 2]
            pause(urls[0])
            assert counts(envs.step([{"amount": 2}] * 4)) == [2] * 4
            results = envs.reset()
            assert [(result.outcome, result.reopened) for result in results if result] == [("ok", False)] * 4
            assert set(envs.places()) == {urls[1]}
            # No other server is known to the single client, so its session stays.
            assert env.reset().observation["count"] == 0
            assert env.step({"amount": 3}).observation["count"] == 3
            wait_for(lambda: [opened(url) for url in urls] == [1, 4])
    finally:
        for server in servers:
            server.kill()


def test_sessions_of_one_url_spread_over_all_servers_behind_it() -> None:
    servers = [Server(OPENENV_OPERATOR_TOKEN="operator") for _ in range(2)]
    balancer = Balancer([server.url for server in servers[:1]])
    try:
        with VectorEnv(balancer.url, 10) as envs:
            envs.reset()
            assert opened(servers[0].url) == 10
            balancer.add(servers[1].url)

            def are_even() -> bool:
                assert [result.reopened for result in envs.reset() if result] == [False] * 10
                return [opened(server.url) for server in servers] == [5, 5]

            # It looks every ten seconds.
            wait_for(are_even)
            assert counts(envs.step([{"amount": 1}] * 10)) == [1] * 10
        with VectorEnv(balancer.url, 10) as envs:
            envs.reset()
            wait_for(lambda: [opened(server.url) for server in servers] == [5, 5])
    finally:
        balancer.close()
        for server in servers:
            server.kill()


class Balancer(Proxy):
    """Passes each connection on to the next server."""

    def __init__(self, urls: list[str]) -> None:
        super().__init__(urls[0])
        self._targets = [self._target]

    def add(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._targets.append((host, int(port)))

    def _connect(self) -> socket.socket:
        return socket.create_connection(self._targets[self.accepted % len(self._targets)])


def pause(url: str) -> None:
    headers = {"authorization": "Bearer operator"}
    urllib.request.urlopen(urllib.request.Request(f"{url}/sessions/pause", method="POST", headers=headers)).close()
