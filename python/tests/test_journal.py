"""Servers with a journal that end while a client is connected."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Server

from openenv_ts import ConnectionLostError, connect


def test_continues_on_a_server_that_was_killed_and_has_a_journal(tmp_path: Path) -> None:
    journal = {"JOURNAL": str(tmp_path / "sessions.db")}
    server = Server(**journal)
    env = connect(server.url)
    env.reset()
    env.step({"amount": 2})
    port = server.port
    server.kill()
    again = Server(port=port, **journal)
    result = env.step({"amount": 3})
    assert (result.observation["count"], result.recovered) == (5, True)
    env.close()
    again.kill()


def test_a_journal_that_lost_answered_requests_loses_the_session(tmp_path: Path) -> None:
    journal, earlier = tmp_path / "journal", tmp_path / "earlier"
    journal.mkdir()
    path = str(journal / "sessions.db")
    first = Server(JOURNAL=path)
    with connect(first.url) as env:
        env.reset()
        env.step({"amount": 1})
        first.kill()
        shutil.copytree(journal, earlier)
        second = Server(port=first.port, JOURNAL=path)
        assert env.step({"amount": 2}).observation["count"] == 3
        second.kill()
        shutil.rmtree(journal)
        earlier.rename(journal)
        third = Server(port=first.port, JOURNAL=path)
        with pytest.raises(ConnectionLostError, match="has lost answered requests"):
            env.step({"amount": 3})
        assert env.reset().observation["count"] == 0
    third.kill()
