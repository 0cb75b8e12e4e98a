import type { Names } from "../../project/names.js";
import type { ClientTypes } from "../types.js";
import { actionClasses, isToolCall, renderImport } from "./render-python.js";

/** Has the same message as the error that the released client raises. */
const REMOTE_ERROR = `class RemoteError(RuntimeError):
    """The server answered with an error.

    \`wire_code\` is the code that the server sent, and \`code\` the same code, except for
    a step before the first reset: openenv-ts sends EXECUTION_ERROR for it, as for an
    exception of the environment, and \`code\` is NO_EPISODE. \`fault\` says who caused
    it: mask "infrastructure" and "environment"; "client" is the request itself.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.wire_code = str(data.get("code", "UNKNOWN"))
        self.code = str(data.get("openenv_code", self.wire_code))
        self.fault = str(data.get("fault", "infrastructure"))
        self.data = data
        message = data.get("message", "Unknown error")
        super().__init__(f"Server error: {message} (code: {self.wire_code})")`;

/** The client, on the released `openenv` alone. */
export function renderReleasedClient(types: ClientTypes, { prefix, module }: Names): string {
  const { action, observation, state } = types;
  const hasTools = types.tools.length > 0;
  // If the action itself is a tool call, its observation is the declared one.
  const isCall = isToolCall(action);
  const hasBoth = hasTools && !isCall;
  const stock = hasBoth ? ["CallToolAction", "ListToolsAction"] : hasTools ? ["CallToolAction"] : [];
  const sent = [...actionClasses(action), ...stock].join(" | ");
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
    renderImport("models", [...actionClasses(action), observation.name, state.name]),
    ...(hasTools ? [renderImport("tools", [`${prefix}Tools`, `Sync${prefix}Tools`])] : []),
  ];
  return `"""The client of ${module}."""
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
        # The server fills in the defaults of omitted fields.
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

/** A tool call always includes its type, even with `exclude_unset`. */
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
        """The same client with blocking calls."""
        client = self._sync_client
        if not isinstance(client, Sync${prefix}Env):
            client = self._sync_client = Sync${prefix}Env(self)
        return client

    async def __aenter__(self) -> ${prefix}Env:
        await super().__aenter__()
        return self
`;
}

/** Chooses the model of an observation by its fields. */
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
    """One session of ${prefix}Env, with blocking calls."""

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
