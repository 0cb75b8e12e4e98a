"""Train with TRL's GRPOTrainer on any environment, without code for it."""

from __future__ import annotations

import functools
import inspect
import json
import keyword
import re
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from ._agents import Episode, ToolFailedError, begin, read_prompt, read_starts, read_toolbox, start, to_text
from ._frames import to_handle
from ._server import encode
from ._sockets import run
from .errors import ConnectionLostError, RemoteError
from .options import ConnectOptions
from .results import Tool
from .sync import Env, connect

if TYPE_CHECKING:
    from typing_extensions import Unpack

RewardFunc = Callable[..., Any]
SCALARS: Mapping[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}


class TrlEnvironment(Episode):
    """One environment for all rollouts of a trainer, one after the other. Reward functions read its attributes."""

    _spec: TrlSpec

    def __init__(self) -> None:
        super().__init__()
        self.group_id = ""
        """Equal for the rollouts that start in the same way."""
        self.lost: Exception | None = None
        """Why the rollout is lost; None when it is not."""
        self.server = ""
        """The server that has the session: its URL, or its name where an address leads to several."""
        self.session: str | None = None
        """Its first characters, as in the log of the server; None if the server cannot resume sessions."""
        self.episode_id = ""
        """That of the row; without one, a new id for each rollout."""
        self.link: str | None = None
        """The page of its session on the server; None if the server does not name its sessions."""
        self._env: Env | None = None
        for tool in self._spec._toolbox.tools if hasattr(self, "_spec") else ():
            name = _identifier(tool.name, RESERVED)
            setattr(self, name, CallableTool(getattr(self, name), tool))

    def reset(self, **row: Any) -> str:
        spec = self._spec
        super().__init__()
        self.lost = None
        given = row.get("reset_options")
        options = json.loads(given) if isinstance(given, str) else dict(given or {})
        for name in ("seed", "episode_id", "split", "index"):
            if row.get(name) is not None:
                options[name] = row[name]
        self._env = spec._open(self._env)
        self.group_id = encode(dict(sorted(options.items())))
        if spec._training:
            options["metadata"] = {**spec._training, **(options.get("metadata") or {})}
        self.episode_id = str(options.setdefault("episode_id", uuid.uuid4().hex))
        self.server, self.session, self.link = self._env.url, None, None
        try:
            first = self._env._run(begin(self._env._env, options, spec.outage))
            start(self, first)
            self.link = first.url
            if (connection := self._env._env._connection) is not None:
                self.server, self.session = connection.server or self.server, to_handle(connection._key.session_id)
            return to_text(first.observation)
        except (RemoteError, ConnectionLostError) as error:
            spec._lose(self, error)
            return ""

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        spec, env = self._spec, self._env
        if self.lost is not None or env is None:
            return "The environment is not available."
        if self.done:
            return "The episode has ended."
        try:
            return env._run(spec._toolbox.call(env._env, self, name, arguments))
        except ToolFailedError:
            raise
        except Exception as error:
            spec._lose(self, error)
            return "The environment is not available."


class CallableTool(dict[str, Any]):
    """A tool of one instance, which TRL finds in place of the method. TRL calls it, and a chat template gets its whole
    JSON Schema: type hints cannot express the fields of nested objects."""

    def __init__(self, method: Callable[..., str], tool: Tool) -> None:
        names = {wire: name for name, wire in _names(tool).items()}
        schema = {name: value for name, value in tool.input_schema.items() if name != "$schema"}
        schema["properties"] = {names[wire]: one for wire, one in (schema.get("properties") or {}).items()}
        if "required" in schema:
            schema["required"] = [names.get(wire, wire) for wire in schema["required"]]
        described = {"name": method.__name__, "description": tool.description.strip(), "parameters": schema}
        super().__init__(type="function", function=described)
        functools.update_wrapper(self, method)
        self.__signature__ = inspect.signature(method)

    def __call__(self, /, *given: Any, **named: Any) -> str:
        result: str = self.__wrapped__(*given, **named)  # type: ignore[attr-defined]
        return result


def _names(tool: Tool) -> dict[str, str]:
    """The arguments of a tool by their names in Python. Those without a default come first."""
    properties, required = tool.input_schema.get("properties") or {}, tool.input_schema.get("required") or []
    names = {_identifier(name, ("self",)): name for name in sorted(properties, key=lambda name: name not in required)}
    if len(names) < len(properties):
        raise ValueError(f'Arguments of the tool "{tool.name}" have the same name in Python: {list(properties)}.')
    return names


def _to_method(tool: Tool) -> Callable[..., str]:
    """A tool as a method: names that are not identifiers in Python have others there."""
    properties, required = tool.input_schema.get("properties") or {}, tool.input_schema.get("required") or []
    names = _names(tool)
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            annotation=_to_type(properties[wire]) if wire in required else Optional[_to_type(properties[wire])],  # noqa: UP045
            default=inspect.Parameter.empty if wire in required else _UNSET,
        )
        for name, wire in names.items()
    ]
    signature = inspect.Signature([_SELF, *parameters], return_annotation=str)

    def method(self: TrlEnvironment, *given: Any, **named: Any) -> str:
        bound = signature.bind(self, *given, **named).arguments
        arguments = {names[name]: value for name, value in bound.items() if name != "self" and value is not _UNSET}
        return self._call(tool.name, arguments)

    lines = [tool.description.strip() or f"Calls {tool.name}.", "", *(["Args:"] if names else [])]
    lines += [f"    {name}: {_describe(properties[wire], wire)}" for name, wire in names.items()]
    method.__name__ = method.__qualname__ = _identifier(tool.name, RESERVED)
    method.__doc__ = "\n".join(lines)
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": str}
    return method


LOGGED = ("server", "session", "episode_id", "link", "lost")
"""Attributes of a rollout that are columns of TRL's log of completions."""
RESERVED = ("reset", "get_reward", "group_id", *LOGGED, *(one.name for one in fields(Episode)))
"""Names of TRL, and attributes of an instance, which would hide a method of the same name."""
_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
_UNSET: Any = None


class TrlSpec:
    """What ``GRPOTrainer`` needs: pass ``environment_factory``, ``train_dataset``, ``reward_funcs`` and ``callbacks``.

    Sessions are closed when training ends (``callback``), at the end of a ``with`` block, and at exit.
    """

    def __init__(
        self,
        url: str,
        reward_funcs: RewardFunc | Sequence[RewardFunc] | None = None,
        *,
        prompt: str | None = None,
        rows: int = 1000,
        split: str = "train",
        outage: float = 600.0,
        **options: Unpack[ConnectOptions],
    ) -> None:
        self.url = url
        self.outage = outage
        self.lost_rollouts = 0
        """How many rollouts were lost since the start, and masked."""
        self._options = options
        self._rows, self._split = rows, split
        self._lock = threading.Lock()
        self._open_envs: set[Env] = set()
        client = connect(url, **options)
        self._prompt = prompt or run(read_prompt(client._env))
        self._records = "server_version" in run(client._env.get("/metadata"))
        self._training: dict[str, Any] = {}
        self._toolbox = run(read_toolbox(client._env))
        self._client = client
        given = [reward_funcs] if callable(reward_funcs) else list(reward_funcs or [episode_reward])
        self.reward_funcs = [self._mask(func, first=nth == 0) for nth, func in enumerate(given)]
        self.environment_factory = self._make_class()

    def __repr__(self) -> str:
        return f"<TrlSpec {self.url}>"

    def _make_class(self) -> type[TrlEnvironment]:
        methods: dict[str, Any] = {"_spec": self}
        for method in map(_to_method, self._toolbox.tools):
            if method.__name__ in methods:
                raise ValueError(f'Two tools have the same name in Python: "{method.__name__}".')
            methods[method.__name__] = method
        return type("Environment", (TrlEnvironment,), methods)

    @property
    def train_dataset(self) -> Any:
        """A ``datasets.Dataset``: a row for each task of the split or, without tasks, for each of ``rows`` seeds."""
        from datasets import Dataset  # noqa: PLC0415

        prompt = [{"role": "user", "content": self._prompt + "\n\n"}]
        starts = run(read_starts(self._client._env, self._split, self._rows))
        return Dataset.from_list([{"prompt": prompt, **start} for start in starts])

    @property
    def callback(self) -> Any:
        """A ``TrainerCallback`` that names the run and its step in each reset, and closes the sessions at the end."""
        from transformers import TrainerCallback  # noqa: PLC0415

        spec = self

        class FollowTraining(TrainerCallback):  # type: ignore[misc, unused-ignore]
            def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                spec._begin_step(str(args.run_name or args.output_dir), state.global_step)

            def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                spec.close()

        return FollowTraining()

    def _begin_step(self, run: str, policy_step: int) -> None:
        """Names what the server records of the next rollouts. Other servers may pass metadata to the environment."""
        if self._records:
            self._training = {"run": run, "policy_step": policy_step}

    def close(self) -> None:
        """Closes the sessions. Rollouts after it open new ones."""
        with self._lock:
            envs, self._open_envs = self._open_envs, set()
        # A server that does not answer is waited for once, not for each session.
        for env in envs:
            env._run(env._env._begin_close())
        for env in envs:
            env.close()

    def __enter__(self) -> TrlSpec:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, env: Env | None) -> Env:
        """Returns a client that ``close`` closes: also one that it has closed before, which the next reset opens."""
        env = env or connect(self.url, **self._options)
        with self._lock:
            self._open_envs.add(env)
        return env

    def _lose(self, environment: TrlEnvironment, error: Exception) -> None:
        environment.lost = error
        with self._lock:
            self.lost_rollouts += 1

    def _mask(self, func: RewardFunc, first: bool) -> RewardFunc:
        """TRL masks a rollout only if every reward function returns None for it."""
        if isinstance(func, str) or hasattr(func, "forward") or not callable(func):
            raise TypeError(f"A reward must be a function, because a lost rollout has none: {func!r}.")

        def apply(rewards: Sequence[Any], environments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
            lost = [getattr(one, "lost", None) is not None for one in environments]
            if first and callable(named.get("log_metric")):
                named["log_metric"]("openenv/lost_rollouts", sum(lost) / max(1, len(lost)))
            if first and callable(named.get("log_extra")):
                for name in LOGGED:
                    values = (getattr(one, name, None) for one in environments)
                    named["log_extra"](f"openenv/{name}", [None if value is None else str(value) for value in values])
            return [None if gone else reward for reward, gone in zip(rewards, lost, strict=True)]

        if inspect.iscoroutinefunction(func):

            @functools.wraps(func)
            async def masked_async(*, environments: Sequence[Any], **named: Any) -> list[Any]:
                return apply(await func(environments=environments, **named), environments, named)

            return masked_async

        @functools.wraps(func)
        def masked(*, environments: Sequence[Any], **named: Any) -> list[Any]:
            return apply(func(environments=environments, **named), environments, named)

        return masked


class TrlOptions(ConnectOptions, total=False):
    """See for_trl."""

    prompt: str | None
    rows: int
    split: str
    outage: float


def for_trl(
    url: str, reward_funcs: RewardFunc | Sequence[RewardFunc] | None = None, **options: Unpack[TrlOptions]
) -> TrlSpec:
    """Makes an environment trainable with TRL's ``GRPOTrainer``, without code for it::

        spec = for_trl("http://localhost:8000")
        trainer = GRPOTrainer(model, args=config, train_dataset=spec.train_dataset, reward_funcs=spec.reward_funcs,
                              environment_factory=spec.environment_factory, callbacks=[spec.callback])

    The model gets the tools of the environment or, without tools, one tool ``step`` with the fields of the action.
    ``reward_funcs`` are functions as TRL calls them, by default ``episode_reward``. A lost rollout (the server was away
    for more than ``outage`` seconds, or its session is gone) has no reward: every function returns None for it, so TRL
    masks it. ``prompt`` is the text before the first observation, by default the description of the environment;
    ``rows`` is the number of seeds without tasks, ``split`` that of the tasks. Other options are those of ``connect``.
    """
    return TrlSpec(url, reward_funcs, **options)


def episode_reward(*, environments: Sequence[TrlEnvironment], **_: Any) -> list[float]:
    """The sum of the rewards of each episode."""
    return [sum(one.rewards) for one in environments]


def _identifier(name: str, reserved: Sequence[str]) -> str:
    mapped = re.sub(r"\W", "_", name, flags=re.ASCII).lstrip("_")
    if mapped == "" or mapped[0].isdigit() or keyword.iskeyword(mapped) or mapped in reserved:
        mapped = f"call_{mapped}"
    return mapped


def _to_type(schema: Mapping[str, Any]) -> Any:  # noqa: PLR0911
    """A type hint from which transformers makes about the same JSON Schema again."""
    kind = schema.get("type")
    if "enum" in schema and all(isinstance(one, (str, int, bool)) for one in schema["enum"]):
        return Literal[tuple(schema["enum"])]
    if "const" in schema and isinstance(schema["const"], (str, int, bool)):
        return Literal[schema["const"]]
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return Union[tuple(_to_type(one) for one in schema[key])]  # noqa: UP007
    if isinstance(kind, list):
        return Union[tuple(_to_type({**schema, "type": one}) for one in kind)]  # noqa: UP007
    if isinstance(kind, str) and kind in SCALARS:
        return SCALARS[kind]
    if kind == "array":
        items = schema.get("items")
        return list[_to_type(items)] if isinstance(items, dict) and items else list  # type: ignore[misc]
    return dict if kind == "object" else Any


def _describe(schema: Mapping[str, Any], name: str) -> str:
    description = " ".join(str(schema.get("description") or schema.get("title") or name).split())
    bounds = [f"{word} {schema[key]}" for key, word in BOUNDS.items() if key in schema]
    if '"properties":' in (nested := json.dumps(schema)):
        bounds.append(f"JSON Schema: {nested}")
    return f"{description} ({', '.join(bounds)})" if bounds else description


BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
    "minLength": "length at least",
    "maxLength": "length at most",
    "pattern": "matching",
}
