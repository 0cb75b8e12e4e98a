import type { ClientTypes, ToolType } from "../types.js";
import { pythonMethod } from "./python-names.js";
import {
  classNames,
  docstring,
  type PythonBase,
  pythonFields,
  renderStandardImports,
  renderType,
} from "./render-python.js";

const COMMON = `T = TypeVar("T")
UNSET: Any = object()
"""Default of an argument that is not sent, so that the server uses its default."""


@dataclass(frozen=True)
class ToolCallResult(Generic[T]):
    """Result of a call. A call is a step: it may have a reward and end the episode."""

    data: T
    reward: bool | int | float | None
    done: bool
    metadata: dict[str, Any]


class ToolCallError(Exception):
    """A tool call failed. The step may still have a reward."""
`;
const ARGUMENTS = `    sent = {key: value for key, value in given.items() if value is not UNSET}
    arguments = model(**sent).model_dump(mode="json", by_alias=True, exclude_unset=True) if model else {}`;

const RELEASED_HELPERS = `${COMMON}
    def __init__(self, tool_name: str, error: Any, result: StepResult[Any]) -> None:
        super().__init__(error.message)
        self.tool_name = tool_name
        self.error_type = str(getattr(error.error_type, "value", error.error_type))
        self.reward = result.reward
        self.done = result.done


def _call(name: str, model: Any, given: dict[str, Any]) -> CallToolAction:
${ARGUMENTS}
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

const HELPERS = `${COMMON}
    def __init__(self, tool_name: str, result: ToolResult) -> None:
        super().__init__(result.error)
        self.tool_name = tool_name
        self.error_type = result.error_type
        self.reward = result.reward
        self.done = result.done


def _arguments(model: Any, given: dict[str, Any]) -> Any:
${ARGUMENTS}
    return arguments


def _result(name: str, result: ToolResult, returns: Any) -> ToolCallResult[Any]:
    if result.error is not None:
        raise ToolCallError(name, result)
    return ToolCallResult(
        data=TypeAdapter(returns).validate_python(result.data),
        reward=result.reward,
        done=result.done,
        metadata=result.metadata,
    )`;

/** The module of the tools: a typed method for each, async and sync. */
export function renderPythonTools(types: ClientTypes, prefix: string, base: PythonBase): string {
  const isReleased = base === "openenv";
  const names = classNames(types);
  const inputs = types.tools.filter(({ input }) => input.fields.length > 0).map(({ input }) => input.name);
  const other = `${isReleased ? "Sync" : "Async"}${prefix}`;
  const classes = [
    renderTools(types.tools, { name: `${prefix}Tools`, client: `${prefix}Env`, isAsync: isReleased, base }, names),
    renderTools(types.tools, { name: `${other}Tools`, client: `${other}Env`, isAsync: !isReleased, base }, names),
  ].join("\n\n\n");
  const used = [...names, "Key"]
    .filter((name) => inputs.includes(name) || new RegExp(`\\b${name}\\b`).test(classes))
    .sort();
  const imports = renderStandardImports(`${isReleased ? RELEASED_HELPERS : HELPERS} TYPE_CHECKING ${classes}`, [
    ...["TYPE_CHECKING", "Annotated", "Any", "Generic", "Literal", "TypeVar"],
  ]);
  return `from __future__ import annotations

from dataclasses import dataclass
${imports.join("\n")}

${isReleased ? RELEASED_IMPORTS : "from openenv_ts import ToolResult"}
from pydantic import ${classes.includes("Field(discriminator=") ? "Field, " : ""}TypeAdapter
${used.length > 0 ? `\nfrom .models import (\n${used.map((name) => `    ${name},\n`).join("")})\n` : ""}
if TYPE_CHECKING:
    from .client import ${[`${prefix}Env`, `${other}Env`].join(", ")}

${isReleased ? RELEASED_HELPERS : HELPERS}


${classes}
`;
}

const RELEASED_IMPORTS = `from openenv.core.client_types import StepResult
from openenv.core.env_server.mcp_types import CallToolAction`;

interface ToolsClass {
  name: string;
  client: string;
  isAsync: boolean;
  base: PythonBase;
}

function renderTools(
  tools: readonly ToolType[],
  { name, client, isAsync, base }: ToolsClass,
  names: ReadonlySet<string>,
): string {
  const used = new Set<string>();
  const methods = tools.map((tool) => {
    const method = pythonMethod(tool.name, used);
    used.add(method);
    return renderMethod(tool, { method, isAsync, base, names });
  });
  return `class ${name}:
    """The tools of the environment. A call is a step."""

    def __init__(self, env: ${client}) -> None:
        self._env = env

${methods.join("\n\n")}`;
}

interface MethodOptions extends Pick<ToolsClass, "isAsync" | "base"> {
  method: string;
  names: ReadonlySet<string>;
}

function renderMethod(
  { name, description, input, output }: ToolType,
  { method, isAsync, base, names }: MethodOptions,
): string {
  const fields = pythonFields(input, "Arguments", names);
  const parameters = fields.map(
    ({ name: parameter, field }) =>
      `        ${parameter}: ${renderType(field.type, "Key")}${field.required ? "" : " = UNSET"},\n`,
  );
  const given = fields.map(({ name: parameter }) => `                    "${parameter}": ${parameter},\n`);
  const returns = renderType(output);
  const model = fields.length > 0 ? input.name : "None";
  const values = `{${given.length > 0 ? `\n${given.join("")}                ` : ""}}`;
  const call =
    base === "openenv"
      ? `step(\n                _call(${JSON.stringify(name)}, ${model}, ${values})\n            )`
      : `call_tool(\n                ${JSON.stringify(name)}, _arguments(${model}, ${values})\n            )`;
  return `    ${isAsync ? "async " : ""}def ${method}(
        self,
${parameters.length > 0 ? `        *,\n${parameters.join("")}` : ""}    ) -> ToolCallResult[${returns}]:
        """${docstring(description || `Calls ${method}.`)}"""
        return _result(
            ${JSON.stringify(name)},
            ${isAsync ? "await " : ""}self._env.${call},
            ${returns},
        )`;
}
