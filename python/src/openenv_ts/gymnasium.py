"""Environments as ``gymnasium.Env`` and ``gymnasium.vector.VectorEnv``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from .errors import reading
from .options import ConnectOptions, PoolOptions
from .results import VectorResult
from .sync import VectorEnv, connect

if TYPE_CHECKING:
    from typing_extensions import Unpack

Schema = Mapping[str, Any]
AUTORESET: Mapping[AutoresetMode, Literal["disabled", "next-step", "same-step"]] = {
    AutoresetMode.DISABLED: "disabled",
    AutoresetMode.NEXT_STEP: "next-step",
    AutoresetMode.SAME_STEP: "same-step",
}
MAX_DISCRETE = 2**31
"""Integers with more values than this are a Box."""


@dataclass(frozen=True)
class Mapped:
    """A space, and how its values are converted to JSON and back."""

    space: spaces.Space[Any]
    to_json: Callable[[Any], Any]
    from_json: Callable[[Any], Any]

    @reading
    def read(self, value: Any) -> Any:
        """What a server sent as a value of the space."""
        return self.from_json(value)


class OpenEnvGym(gymnasium.Env[Any, Any]):
    """One session as a ``gymnasium.Env``. Spaces come from the schemas of the server; an object with one field is the
    space of that field. ``fields`` are those of the observation that are used, by default all. An error raises: a
    failure is never a reward. Other options are those of ``connect``.
    """

    def __init__(self, url: str, *, fields: Sequence[str] | None = None, **options: Unpack[ConnectOptions]) -> None:
        self._env = connect(url, **options)
        self._action, self._observation = read_spaces(self._env.get("/schema"), fields)
        self.action_space, self.observation_space = self._action.space, self._observation.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        given = {**(options or {}), **({} if seed is None else {"seed": seed})}
        result = self._env.reset(**given)
        return self._observation.read(result.observation), {"metadata": result.metadata}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        result = self._env.step(self._action.to_json(action))
        observation = self._observation.read(result.observation)
        ended, truncated = result.outcome == "terminated", result.outcome == "truncated"
        return observation, float(result.reward or 0), ended, truncated, {"metadata": result.metadata}

    def close(self) -> None:
        self._env.close()


class OpenEnvVectorGym(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Many sessions as a ``gymnasium.vector.VectorEnv``; see OpenEnvGym. A session that is lost raises its error. After
    an error the observations of the other sessions are unknown, so ``step`` raises ResetNeeded until ``reset`` has
    started an episode in every session. Other options are those of ``openenv_ts.VectorEnv``."""

    def __init__(
        self,
        url_or_urls: str | Sequence[str],
        num_envs: int,
        *,
        fields: Sequence[str] | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        **options: Unpack[PoolOptions],
    ) -> None:
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": autoreset_mode}
        self._envs = VectorEnv(url_or_urls, num_envs, autoreset=AUTORESET[autoreset_mode], **options)
        self._action, self._observation = read_spaces(self._envs.get("/schema"), fields)
        self.single_action_space, self.single_observation_space = self._action.space, self._observation.space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._last: dict[int, Any] = {}
        """The observation of each session; empty before the first reset and after an error."""

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        seeds: Any = [seed + index for index in range(self.num_envs)] if isinstance(seed, Integral) else seed
        given = dict(options or {})
        mask = given.pop("reset_mask", [True] * self.num_envs)
        values: list[dict[str, Any] | None] = [{**given} if wanted else None for wanted in mask]
        for value, one in zip(values, [] if seeds is None else seeds, strict=False):
            if value is not None and one is not None:
                value["seed"] = int(one)
        last, self._last = self._last, {}
        return self._observe(self._envs.reset(values), last), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        sent = [self._action.to_json(action) for action in iterate(self.action_space, actions)]
        last, self._last = self._last, {}
        if not last:
            raise ResetNeeded("Call reset: the environments have no episode, or a call failed.")
        results = [result for result in self._envs.step(sent) if result is not None]
        infos: dict[str, Any] = {}
        for index, result in enumerate(results):
            if result.next is not None:
                final = {"final_obs": self._read(result), "final_info": {"metadata": result.metadata}}
                infos = self._add_info(infos, final, index)
        observations = self._observe([result.next or result for result in results], last)
        rewards = np.array([float(result.reward or 0) if not result.began else 0.0 for result in results])
        terminated = np.array([result.outcome == "terminated" for result in results])
        truncated = np.array([result.outcome == "truncated" for result in results])
        return observations, rewards, terminated, truncated, infos

    def _observe(self, results: Sequence[VectorResult | None], last: Mapping[int, Any]) -> Any:
        new = {index: self._read(result) for index, result in enumerate(results) if result is not None}
        known = {**last, **new}
        if len(known) < self.num_envs:
            raise ValueError(
                "the first reset, also after an error, must start an episode in every session: leave out reset_mask"
            )
        self._last = known
        out: Any = create_empty_array(self.single_observation_space, self.num_envs)
        observations = [self._last[index] for index in range(self.num_envs)]
        return concatenate(self.single_observation_space, observations, out)

    def _read(self, result: VectorResult) -> Any:
        if result.error is not None:
            raise result.error
        return self._observation.read(result.observation)

    def close_extras(self, **_: Any) -> None:
        self._envs.close()


def read_spaces(schemas: Mapping[str, Schema], fields: Sequence[str] | None) -> tuple[Mapped, Mapped]:
    """The spaces of actions and observations. Raises ValueError that names a field without a space."""
    observation = dict(schemas["observation"])
    ignored = {"done", "reward", "metadata"}
    names = fields or [name for name in observation.get("properties", {}) if name not in ignored]
    return _object(schemas["action"], None, "action"), _object(observation, names, "observation")


def _object(schema: Schema, names: Sequence[str] | None, path: str) -> Mapped:
    properties = schema.get("properties") or {}
    used = [name for name in properties if name != "metadata"] if names is None else list(names)
    if not used:
        what = "is a union" if "oneOf" in schema or "anyOf" in schema else "has no fields"
        raise ValueError(f"{path} {what}, so it has no space.")
    unknown = [name for name in used if name not in properties]
    if unknown:
        raise ValueError(f"{path} has no field {unknown[0]!r}; it has {', '.join(properties)}.")
    mapped = {name: _map(properties[name], f"{path}.{name}") for name in used}
    if len(mapped) == 1:
        [(name, one)] = mapped.items()
        return Mapped(one.space, lambda value: {name: one.to_json(value)}, lambda value: one.from_json(value[name]))
    return Mapped(
        spaces.Dict({name: one.space for name, one in mapped.items()}),
        lambda value: {name: one.to_json(value[name]) for name, one in mapped.items()},
        lambda value: {name: one.from_json(value[name]) for name, one in mapped.items()},
    )


def _map(schema: Schema, path: str) -> Mapped:
    kind = schema.get("type")
    if "enum" in schema:
        choices = list(schema["enum"])
        return Mapped(spaces.Discrete(len(choices)), lambda value: choices[int(value)], choices.index)
    if kind == "boolean":
        return Mapped(spaces.Discrete(2), bool, int)
    if kind in ("integer", "number"):
        return _number(schema, integer=kind == "integer")
    if kind == "string" and "maxLength" in schema:
        text = spaces.Text(schema["maxLength"], min_length=schema.get("minLength", 0))
        return Mapped(text, str, str)
    if kind == "array":
        return _array(schema, path)
    if kind == "object" and schema.get("properties"):
        return _object(schema, None, path)
    detail = "a string without maxLength" if kind == "string" else f"the schema {dict(schema)}"
    raise ValueError(f"{path} has no space: {detail} cannot be mapped. Choose other fields of the observation.")


def _number(schema: Schema, integer: bool) -> Mapped:
    step = 1 if integer else 0
    low = schema.get("minimum", schema.get("exclusiveMinimum", -np.inf) + step)
    high = schema.get("maximum", schema.get("exclusiveMaximum", np.inf) - step)
    if integer and np.isfinite(low) and np.isfinite(high) and high - low < MAX_DISCRETE:
        return Mapped(spaces.Discrete(int(high - low) + 1, start=int(low)), int, np.int64)
    box = spaces.Box(low, high, (), np.float64)
    return Mapped(box, (lambda value: round(float(value))) if integer else float, np.float64)


def _array(schema: Schema, path: str) -> Mapped:
    length, items = schema.get("minItems"), schema.get("items")
    if length is None or length != schema.get("maxItems") or not isinstance(items, Mapping):
        raise ValueError(f"{path} has no space: a list must have as many minItems as maxItems.")
    item = _map(items, f"{path}[]")
    if isinstance(item.space, spaces.Discrete):
        start, count = int(item.space.start), int(item.space.n)
        space: spaces.Space[Any] = spaces.MultiDiscrete([count] * length, start=[start] * length)
    elif isinstance(item.space, spaces.Box):
        low, high = np.stack([item.space.low] * length), np.stack([item.space.high] * length)
        space = spaces.Box(low, high, dtype=np.float64)
    else:
        raise ValueError(f"{path} has no space: a list of {type(item.space).__name__} cannot be mapped.")
    return Mapped(
        space,
        lambda value: [item.to_json(one) for one in value],
        lambda value: np.array([item.from_json(one) for one in value], dtype=space.dtype),
    )


__all__ = ["OpenEnvGym", "OpenEnvVectorGym", "read_spaces"]
