import type { ClientTypes, ToolType } from "../types.js";
import { pythonMethod } from "./python-names.js";
import { classNames, docstring, pythonFields, renderType } from "./render-python.js";

const HELPERS = `T = TypeVar("T")
UNSET: Any = object()
"""An argument that is not sent, so that the server fills in its default."""


@dataclass(frozen=True)
class ToolCallResult(Generic[T]):
    """What a call gave: a call is a step, which may earn a reward and end the episode."""

    data: T
    reward: bool | int | float | None
    done: bool
    metadata: dict[str, Any]


class ToolCallError(Exception):
    """A tool gave no result; the step may have earned a reward all the same."""

    def __init__(self, tool_name: str, error: Any, result: StepResult[Any]) -> None:
        super().__init__(error.message)
        self.tool_name = tool_name
        self.error_type = str(getattr(error.error_type, "value", error.error_type))
        self.reward = result.reward
        self.done = result.done


def _call(name: str, model: Any, given: dict[str, Any]) -> CallToolAction:
    sent = {key: value for key, value in given.items() if value is not UNSET}
    arguments = model(**sent).model_dump(mode="json", by_alias=True, exclude_unset=True) if model else {}
    return CallToolAction(tool_name=name, arguments=arguments)


def _result(name: str, result: StepResult[Any], returns: Any) -> ToolCallResult[Any]:
    observation = result.observation
    if observation.error is not None:
        raise ToolCallError(name, observation.error, result)
    given = observation.result
    data = given["data"] if isinstance(given, dict) and "data" in given else given
    return ToolCallResult(
        data=TypeAdapter(returns).validate_python(data),
        reward=result.reward,
        done=result.done,
        metadata=result.metadata or {},
    )`;

/** The module of the tools: a typed method for each, once to be awaited and once not. */
export function renderPythonTools(types: ClientTypes, prefix: string, head: string): string {
  const names = classNames(types);
  const inputs = types.tools.filter(({ input }) => input.fields.length > 0).map(({ input }) => input.name);
  const classes = [
    renderTools(types.tools, { name: `${prefix}Tools`, client: `${prefix}Env`, isAsync: true }, names),
    renderTools(types.tools, { name: `Sync${prefix}Tools`, client: `Sync${prefix}Env`, isAsync: false }, names),
  ].join("\n\n\n");
  const used = [...names].filter((name) => inputs.includes(name) || new RegExp(`\\b${name}\\b`).test(classes)).sort();
  const uses = (word: string): boolean => new RegExp(`\\b${word}\\b`).test(classes.replace(/"(?:[^"\\]|\\.)*"/g, '""'));
  const dates = ["date", "datetime"].filter(uses);
  return `${head}
from __future__ import annotations

from dataclasses import dataclass
${dates.length > 0 ? `from datetime import ${dates.join(", ")}\n` : ""}from typing import TYPE_CHECKING, Any, Generic, ${uses("Literal") ? "Literal, " : ""}TypeVar
${uses("UUID") ? "from uuid import UUID\n" : ""}
from openenv.core.client_types import StepResult
from openenv.core.env_server.mcp_types import CallToolAction
from pydantic import TypeAdapter
${used.length > 0 ? `\nfrom .models import (\n${used.map((name) => `    ${name},\n`).join("")})\n` : ""}
if TYPE_CHECKING:
    from .client import ${prefix}Env, Sync${prefix}Env

${HELPERS}


${classes}
`;
}

interface ToolsClass {
  name: string;
  client: string;
  isAsync: boolean;
}

function renderTools(
  tools: readonly ToolType[],
  { name, client, isAsync }: ToolsClass,
  names: ReadonlySet<string>,
): string {
  const used = new Set<string>();
  const methods = tools.map((tool) => {
    const method = pythonMethod(tool.name, used);
    used.add(method);
    return renderMethod(tool, { method, isAsync, names });
  });
  return `class ${name}:
    """The tools of the environment. A call is a step."""

    def __init__(self, env: ${client}) -> None:
        self._env = env

${methods.join("\n\n")}`;
}

interface MethodOptions {
  method: string;
  isAsync: boolean;
  names: ReadonlySet<string>;
}

function renderMethod(
  { name, description, input, output }: ToolType,
  { method, isAsync, names }: MethodOptions,
): string {
  const fields = pythonFields(input, "Arguments", names);
  const parameters = fields.map(
    ({ name: parameter, field }) =>
      `        ${parameter}: ${renderType(field.type)}${field.required ? "" : " = UNSET"},\n`,
  );
  const given = fields.map(({ name: parameter }) => `                    "${parameter}": ${parameter},\n`);
  const returns = renderType(output);
  const model = fields.length > 0 ? input.name : "None";
  return `    ${isAsync ? "async " : ""}def ${method}(
        self,
${parameters.length > 0 ? `        *,\n${parameters.join("")}` : ""}    ) -> ToolCallResult[${returns}]:
        """${docstring(description || `Calls ${method}.`)}"""
        return _result(
            ${JSON.stringify(name)},
            ${isAsync ? "await " : ""}self._env.step(
                _call(${JSON.stringify(name)}, ${model}, {${given.length > 0 ? `\n${given.join("")}                ` : ""}})
            ),
            ${returns},
        )`;
}
