import type { Names } from "../../project/names.js";
import type { ClientTypes } from "../types.js";
import { actionClasses, isToolCall, MAX_LINE, renderImport } from "./render-python.js";

/** The client, as subclasses of the clients of openenv-ts. */
export function renderClient(types: ClientTypes, { prefix, module }: Names): string {
  const { action, observation, state } = types;
  const hasTools = types.tools.length > 0;
  const dump = 'action.model_dump(mode="json", by_alias=True, exclude_unset=True)';
  return `"""The client of ${module}."""

from __future__ import annotations

from typing import Any

from openenv_ts import AsyncEnv, Env, RemoteError, StepResult

${renderImport("models", [...actionClasses(action), observation.name, state.name])}
${hasTools ? `${renderImport("tools", [`Async${prefix}Tools`, `${prefix}Tools`])}\n` : ""}
__all__ = ["Async${prefix}Env", "${prefix}Env", "RemoteError"]


def _dump(action: ${actionClasses(action).join(" | ")}) -> dict[str, Any]:
    # The server fills in the defaults of omitted fields.
    return ${isToolCall(action) ? `{"type": action.type, **${dump}}` : dump}


def _read(result: StepResult[Any]) -> StepResult[${observation.name}]:
    result.observation = ${observation.name}.model_validate(result.observation)
    return result


class ${prefix}Env(Env):
    """One session of ${module}.

    Example:
        >>> with ${prefix}Env.connect("http://localhost:8000") as env:
        ...     print(env.reset().observation)
    """
${renderMethods(types, { prefix, isAsync: false })}

class Async${prefix}Env(AsyncEnv):
    """${prefix}Env for asyncio."""
${renderMethods(types, { prefix, isAsync: true })}`;
}

/** Methods that return classes instead of dictionaries, which mypy calls incompatible. */
function renderMethods(
  { action, observation, state, tools }: ClientTypes,
  { prefix, isAsync }: { prefix: string; isAsync: boolean },
): string {
  const [define, wait] = isAsync ? ["async def", "await "] : ["def", ""];
  const tool = `${isAsync ? "Async" : ""}${prefix}Tools`;
  const access = `
    @property
    def tools(self) -> ${tool}:
        """The tools of the environment as methods."""
        return ${tool}(self)
`;
  return `${tools.length > 0 ? access : ""}
    ${define} reset(  # type: ignore[override]
        self, *, timeout: float | None = None, **options: Any
    ) -> StepResult[${observation.name}]:
        """Starts an episode; the options are those of \`\`AsyncEnv.reset\`\`."""
        return _read(${wait}super().reset(timeout=timeout, **options))

    ${define} step(  # type: ignore[override]
${renderParameters(actionClasses(action))}
    ) -> StepResult[${observation.name}]:
        """Takes one action."""
        return _read(${wait}super().step(_dump(action), timeout=timeout))

    ${define} state(  # type: ignore[override]
        self, *, timeout: float | None = None
    ) -> ${state.name}:
        """Returns the state of the episode."""
        return ${state.name}.model_validate(${wait}super().state(timeout=timeout))
`;
}

/** The variants of an action in lines, if there are too many for one. */
function renderParameters(classes: readonly string[]): string {
  const line = `        self, action: ${classes.join(" | ")}, *, timeout: float | None = None`;
  if (line.length <= MAX_LINE) return line;
  return `        self,\n        action: ${classes.join("\n        | ")},\n        *,\n        timeout: float | None = None,`;
}
