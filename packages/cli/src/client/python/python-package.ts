import type { Names } from "../../project/names.js";
import type { ClientTypes, Type } from "../types.js";
import { docstring, renderPythonModels } from "./render-python.js";
import { renderPythonTools } from "./render-python-tools.js";

/** What the first line of a generated file says; one without it is never overwritten. */
export const PYTHON_MARK = "# Written by `openenv client python`; a change is lost when it is run again.";

/** The files of the Python package, by their path below the folder that holds it. */
export function renderPythonPackage(types: ClientTypes, names: Names): Record<string, string> {
  const { module, prefix } = names;
  return {
    [`${module}/__init__.py`]: renderInit(types, names),
    [`${module}/client.py`]: renderClient(types, names),
    [`${module}/models.py`]: renderPythonModels(
      types,
      `${PYTHON_MARK}\n"""${prefix}Action and what belongs to it."""\n`,
    ),
    ...(types.tools.length > 0 && {
      [`${module}/tools.py`]: renderPythonTools(types, prefix, `${PYTHON_MARK}\n"""The tools of ${prefix}Env."""\n`),
    }),
    [`${module}/py.typed`]: "",
  };
}

/** What makes the package installable; for a folder that has no such file yet. */
export function renderPyproject(names: Names, version: string): string {
  const { module } = names;
  return `[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "openenv-${module}"
version = "${version}"
description = "Client of the OpenEnv environment ${module}"
requires-python = ">=3.10"
dependencies = ["openenv>=0.10.0"]

[tool.setuptools]
packages = ["${module}"]

[tool.setuptools.package-data]
${module} = ["py.typed"]
`;
}

function renderInit(types: ClientTypes, { prefix, title }: Names): string {
  const inputs = types.tools.map(({ input }) => input).filter(({ fields }) => fields.length > 0);
  const models = [types.action, types.observation, types.state, ...types.models, ...inputs]
    .map(({ name }) => name)
    .sort();
  const hasTools = types.tools.length > 0;
  const clients = [`${prefix}Env`, ...(hasTools ? [`Sync${prefix}Env`] : [])];
  const tools = hasTools ? [`${prefix}Tools`, `Sync${prefix}Tools`, "ToolCallError", "ToolCallResult"] : [];
  // Last: `openenv init` replaces the prefix in the template, and the order must hold for any.
  const all = [...[...clients, ...models, ...tools].sort(), "RemoteError"];
  return `${PYTHON_MARK}
"""${docstring(title)}, an OpenEnv environment."""

${renderImport("client", [...clients, "RemoteError"])}
${renderImport("models", models)}
${hasTools ? `${renderImport("tools", tools)}\n` : ""}
__all__ = [
${all.map((name) => `    "${name}",\n`).join("")}]
`;
}

function renderImport(module: string, names: readonly string[]): string {
  const line = `from .${module} import ${names.join(", ")}`;
  return line.length <= 88 ? line : `from .${module} import (\n${names.map((name) => `    ${name},\n`).join("")})`;
}

/** Its text is that of the error that the released client raises. */
const REMOTE_ERROR = `class RemoteError(RuntimeError):
    """The server answered an error.

    \`wire_code\` is the code that the server sent, and \`code\` the same code, except for
    a step before the first reset: openenv-ts sends EXECUTION_ERROR for it, as for an
    exception of the environment, and \`code\` is NO_EPISODE.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.wire_code = str(data.get("code", "UNKNOWN"))
        self.code = str(data.get("openenv_code", self.wire_code))
        self.data = data
        message = data.get("message", "Unknown error")
        super().__init__(f"Server error: {message} (code: {self.wire_code})")`;

function renderClient(types: ClientTypes, { prefix, module }: Names): string {
  const { action, observation, state } = types;
  const hasTools = types.tools.length > 0;
  // An action that is a call of a tool itself shows what it gave as its own observation.
  const isCall = action.fields.some(({ name, type }) => name === "type" && isCallType(type));
  const hasBoth = hasTools && !isCall;
  const stock = hasBoth ? ["CallToolAction", "ListToolsAction"] : hasTools ? ["CallToolAction"] : [];
  const sent = [action.name, ...stock].join(" | ");
  const generics = `[${sent}, ${observation.name}, ${state.name}]`;
  const mcp = [...stock, ...(hasBoth ? ["CallToolObservation", "ListToolsObservation"] : [])].sort();
  const imports = [
    "from openenv.core import EnvClient",
    "from openenv.core.client_types import StepResult",
    ...(hasTools
      ? [`from openenv.core.env_server.mcp_types import (\n${mcp.map((name) => `    ${name},\n`).join("")})`]
      : []),
    ...(hasTools ? ["from openenv.core.sync_client import SyncEnvClient"] : []),
    "",
    renderImport("models", [action.name, observation.name, state.name]),
    ...(hasTools ? [renderImport("tools", [`${prefix}Tools`, `Sync${prefix}Tools`])] : []),
  ];
  return `${PYTHON_MARK}
"""The client of ${module}."""
${hasTools ? "\nfrom __future__ import annotations\n" : ""}
from typing import Any

${imports.join("\n")}


${REMOTE_ERROR}


class ${prefix}Env(EnvClient${generics}):
    """One session of ${module}.

    Example:
        >>> with ${prefix}Env(base_url="http://localhost:8000").sync() as env:
        ...     result = env.reset()
        ...     print(result.observation)
    """
${hasTools ? renderAccess(prefix) : ""}
    async def _receive(self) -> dict[str, Any]:
        answer = await super()._receive()
        if answer.get("type") == "error":
            raise RemoteError(answer.get("data") or {})
        return answer

    def _step_payload(self, action: ${sent}) -> dict[str, Any]:
        # What was left out is the server's to fill in.
${renderPayload(isCall, hasBoth)}
    def _parse_result(self, payload: dict[str, Any]) -> StepResult[${hasBoth ? "Any" : observation.name}]:
        seen = payload.get("observation") or {}
        reward = payload.get("reward")
        done = payload.get("done", False)
        metadata = payload.get("metadata") or seen.get("metadata") or {}
        observation = ${hasBoth ? `_model_of(seen)` : observation.name}.model_validate(
            {**seen, "reward": reward, "done": done, "metadata": metadata}
        )
        return StepResult(
            observation=observation, reward=reward, done=done, metadata=metadata
        )

    def _parse_state(self, payload: dict[str, Any]) -> ${state.name}:
        return ${state.name}.model_validate(payload)
${hasBoth ? renderModelOf(observation.name) : ""}${hasTools ? renderSync(prefix, generics) : ""}`;
}

function isCallType(type: Type): boolean {
  return type.kind === "literal" && type.values.length === 1 && type.values[0] === "call_tool";
}

/** A call of a tool always says that it is one. */
function renderPayload(isCall: boolean, hasBoth: boolean): string {
  const dump = 'action.model_dump(mode="json", by_alias=True, exclude_unset=True)';
  if (isCall) return `        return {"type": action.type, **${dump}}\n`;
  if (!hasBoth) return `        return ${dump}\n`;
  return `        payload = ${dump}
        if isinstance(action, (CallToolAction, ListToolsAction)):
            payload["type"] = action.type
        return payload
`;
}

function renderAccess(prefix: string): string {
  return `
    @property
    def tools(self) -> ${prefix}Tools:
        """The tools of the environment as methods."""
        if self._execution_mode == "sync":
            return Sync${prefix}Tools(self)  # type: ignore
        return ${prefix}Tools(self)

    def sync(self) -> Sync${prefix}Env:
        """The same client with calls that block."""
        client = self._sync_client
        if not isinstance(client, Sync${prefix}Env):
            client = self._sync_client = Sync${prefix}Env(self)
        return client

    async def __aenter__(self) -> ${prefix}Env:
        await super().__aenter__()
        return self
`;
}

/** What an answer is, by its fields. */
function renderModelOf(observation: string): string {
  return `

def _model_of(seen: dict[str, Any]) -> Any:
    if seen.keys() >= {"tool_name", "result", "error"}:
        return CallToolObservation
    return ListToolsObservation if seen.keys() - {"metadata"} == {"tools"} else ${observation}
`;
}

function renderSync(prefix: string, generics: string): string {
  return `

class Sync${prefix}Env(SyncEnvClient${generics}):
    """One session of ${prefix}Env, with calls that block."""

    @property
    def tools(self) -> Sync${prefix}Tools:
        """The tools of the environment as methods."""
        return Sync${prefix}Tools(self)

    def new_session(self) -> Sync${prefix}Env:
        client = self._async._create_session_client().sync()
        client.connect()
        self._child_clients.append(client)
        return client

    def __enter__(self) -> Sync${prefix}Env:
        super().__enter__()
        return self
`;
}
