from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from conftest import Server

gymnasium = pytest.importorskip("gymnasium")

from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from openenv_ts import ConnectionLostError
from openenv_ts.gymnasium import OpenEnvGym, OpenEnvVectorGym, read_spaces


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server(NO_TOOLS="1", BOUNDED="1")
    yield started
    started.kill()


def test_passes_the_checks_of_gymnasium(server: Server) -> None:
    env = OpenEnvGym(server.url)
    assert env.action_space == spaces.Discrete(4)
    assert isinstance(env.observation_space, spaces.Dict)
    check_env(env, skip_render_check=True)
    env.close()


def test_plays_an_episode(server: Server) -> None:
    env = OpenEnvGym(server.url, fields=["count"])
    first, _ = env.reset(seed=7)
    assert first == 0
    observation, reward, terminated, truncated, _ = env.step(np.int64(3))
    assert (observation, reward, terminated, truncated) == (3, 3.0, False, False)
    for _ in range(3):
        observation, _, terminated, _, _ = env.step(3)
    assert (observation, terminated) == (12, True)
    env.close()


def test_seeds_can_be_numbers_of_numpy(server: Server) -> None:
    envs = OpenEnvVectorGym(server.url, 2, fields=["start"])
    first, _ = envs.reset(seed=7)
    for seed in (np.int64(7), np.array([7, 8])):
        assert envs.reset(seed=seed)[0].tolist() == first.tolist()
    envs.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_steps_many(server: Server, mode: AutoresetMode) -> None:
    envs = OpenEnvVectorGym(server.url, 3, fields=["count"], autoreset_mode=mode)
    observations, _ = envs.reset(seed=1)
    assert observations.tolist() == [0, 0, 0]
    for _ in range(4):
        observations, rewards, terminated, truncated, infos = envs.step(np.array([3, 1, 0]))
    assert rewards.tolist() == [3, 1, 0]
    assert terminated.tolist() == [True, False, False]
    assert not truncated.any()
    if mode is AutoresetMode.SAME_STEP:
        assert observations.tolist() == [0, 4, 0]
        assert infos["final_obs"][0] == 12
    else:
        assert observations.tolist() == [12, 4, 0]
    if mode is AutoresetMode.NEXT_STEP:
        observations, rewards, terminated, _, _ = envs.step(np.array([3, 1, 0]))
        assert observations.tolist() == [0, 5, 0]
        assert rewards.tolist() == [0, 1, 0]
        assert not terminated.any()
    envs.close()


def test_invents_no_observation_before_the_first_reset(server: Server) -> None:
    envs = OpenEnvVectorGym(server.url, 2)
    with pytest.raises(ValueError, match="must start an episode in every session"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    envs.close()


def test_a_lost_session_raises_and_is_no_reward() -> None:
    server = Server(NO_TOOLS="1", BOUNDED="1")
    envs = OpenEnvVectorGym(server.url, 2, timeout=5)
    envs.reset()
    server.kill()
    with pytest.raises(ConnectionLostError):
        envs.step(np.array([0, 0]))
    envs.close()


def test_continues_after_an_error_with_a_reset_only() -> None:
    server = Server(NO_TOOLS="1", BOUNDED="1")
    envs = OpenEnvVectorGym(server.url, 2, fields=["count"], autoreset_mode=AutoresetMode.SAME_STEP, timeout=5)
    with pytest.raises(ResetNeeded):
        envs.step(np.array([0, 0]))
    envs.reset()
    envs.step(np.array([3, 3]))
    server.kill()
    with pytest.raises(ConnectionLostError):
        envs.step(np.array([3, 3]))
    server = Server(NO_TOOLS="1", BOUNDED="1", port=server.port)
    # The sessions could be opened again, but the caller has seen no first observation of their episodes.
    with pytest.raises(ResetNeeded):
        envs.step(np.array([3, 3]))
    with pytest.raises(ValueError, match="must start an episode in every session"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    observations, _ = envs.reset()
    assert observations.tolist() == [0, 0]
    observations, rewards, *_ = envs.step(np.array([1, 2]))
    assert (observations.tolist(), rewards.tolist()) == ([1, 2], [1, 2])
    envs.close()
    server.kill()


@pytest.mark.parametrize(
    ("schema", "space"),
    [
        ({"type": "boolean"}, spaces.Discrete(2)),
        ({"enum": ["a", "b"]}, spaces.Discrete(2)),
        ({"type": "integer", "minimum": -2, "maximum": 2}, spaces.Discrete(5, start=-2)),
        ({"type": "number", "minimum": 0, "maximum": 1}, spaces.Box(0, 1, (), np.float64)),
        ({"type": "string", "maxLength": 5}, spaces.Text(5, min_length=0)),
        (
            {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}},
            spaces.Box(-np.inf, np.inf, (2,), np.float64),
        ),
        (
            {"type": "array", "minItems": 2, "maxItems": 2, "items": {"enum": ["x", "o", ""]}},
            spaces.MultiDiscrete([3, 3]),
        ),
    ],
)
def test_maps_fields(schema: dict[str, object], space: spaces.Space[object]) -> None:
    one = {"properties": {"field": schema}}
    action, observation = read_spaces({"action": one, "observation": one}, None)
    assert action.space == observation.space == space
    sample = space.sample()
    again = action.from_json(action.to_json(sample))
    assert np.all(again == sample)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "string"}, "action.field has no space: a string without maxLength"),
        ({"type": "array", "items": {"type": "integer"}}, "action.field has no space: a list must have"),
        ({"anyOf": []}, "action.field has no space"),
    ],
)
def test_names_a_field_without_a_space(schema: dict[str, object], message: str) -> None:
    one = {"properties": {"field": schema}}
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        read_spaces({"action": one, "observation": one}, None)
