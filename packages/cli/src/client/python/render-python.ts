import { renderPython } from "openenv-ts/internal";
import type { ClientTypes, Model, ModelField, Type } from "../types.js";
import { pythonField } from "./python-names.js";

const MAX_LINE = 88;

/** The package that a client stands on: the one of this repository, or the released one alone. */
export type PythonBase = "openenv-ts" | "openenv";

/** The module with the typed classes of actions, observations and state. */
export function renderPythonModels(types: ClientTypes, base: PythonBase): string {
  const names = classNames(types);
  const inputs = types.tools.map(({ input }) => input).filter(({ fields }) => fields.length > 0);
  const classes = [
    ...types.models.map((model) => renderClass(model, "BaseModel", names)),
    ...inputs.map((model) => renderClass(model, "Arguments", names)),
    renderClass(types.action, "Action", names),
    renderClass(types.observation, "Observation", names),
    renderClass(types.state, "State", names),
  ];
  if (base === "openenv-ts") classes.unshift(BASE_CLASSES);
  const code = classes.join("\n\n\n");
  return `from __future__ import annotations

${renderImports(code, base)}


${code}
`;
}

/** The names of all classes, which fields must not use. */
export function classNames({ models, action, observation, state, tools }: ClientTypes): ReadonlySet<string> {
  const inputs = tools.map(({ input }) => input);
  return new Set([...models, action, observation, state, ...inputs].map(({ name }) => name));
}

/** The fields of a class by their names in Python. */
export function pythonFields(
  model: Model,
  base: string,
  names: ReadonlySet<string>,
): { name: string; field: ModelField }[] {
  const used = new Set([...(BASE_FIELDS[base] ?? []), ...names]);
  return model.fields.map((field) => {
    const name = pythonField(field.name, used);
    used.add(name);
    return { name, field };
  });
}

function renderClass(model: Model, base: string, names: ReadonlySet<string>): string {
  const fields = pythonFields(model, base, names);
  const lines = fields.map(({ name, field }) => renderField(name, field));
  const parts = [
    `    """${docstring(model.description || DOCSTRINGS[base] || `${model.name}.`)}"""`,
    renderConfig(model, base, fields),
    lines.join("\n"),
  ].filter(Boolean);
  return `class ${model.name}(${base === "Arguments" ? "BaseModel" : base}):\n${parts.join("\n\n")}`;
}

const BASE_FIELDS: Record<string, string[]> = {
  Action: ["metadata"],
  // Other names in the methods of tools.
  Arguments: ["self", "UNSET"],
  Observation: ["done", "reward", "metadata"],
  State: ["episode_id", "step_count"],
};
const DOCSTRINGS: Record<string, string> = {
  Action: "The action that an agent sends in a step.",
  Observation: "The observation that reset and step return.",
  State: "The state of an episode.",
};
/** How the base classes handle unknown fields. */
const EXTRA: Record<string, Model["extra"]> = {
  Action: "forbid",
  Observation: "forbid",
  State: "allow",
  BaseModel: "ignore",
  Arguments: "ignore",
};

function renderConfig(model: Model, base: string, fields: { name: string; field: ModelField }[]): string {
  const settings: string[] = [];
  if (model.extra !== EXTRA[base] && model.extra !== "ignore") settings.push(`extra="${model.extra}"`);
  if (fields.some(({ name, field }) => name !== field.name)) settings.push("populate_by_name=True");
  if (fields.some(({ name }) => name.startsWith("model_"))) settings.push("protected_namespaces=()");
  return settings.length === 0 ? "" : `    model_config = ConfigDict(${settings.join(", ")})`;
}

function renderField(name: string, field: ModelField): string {
  const type = renderType(field.type);
  const isNullable = /\b(None|Any)$/.test(type);
  const hint = field.required || field.default || isNullable ? type : `${type} | None`;
  const args = [
    ...defaultOf(field),
    // With `alias`, type checkers would want that name as the parameter.
    ...(name === field.name
      ? []
      : ["validation_alias", "serialization_alias"].map((key) => `${key}=${JSON.stringify(field.name)}`)),
    ...Object.entries(field.limits).map(([key, value]) => `${key}=${value}`),
    ...(field.description ? [`description=${JSON.stringify(field.description)}`] : []),
  ];
  if (args.length === 0) return `    ${name}: ${hint}`;
  const [only = ""] = args;
  if (args.length === 1 && only.startsWith("default="))
    return `    ${name}: ${hint} = ${only.slice("default=".length)}`;
  const line = `    ${name}: ${hint} = Field(${args.join(", ")})`;
  return line.length <= MAX_LINE
    ? line
    : `    ${name}: ${hint} = Field(\n${args.map((arg) => `        ${arg},\n`).join("")}    )`;
}

/** The default of a model or date is JSON in the schema, so pydantic must validate it to convert it. */
function defaultOf(field: ModelField): string[] {
  if (field.required) return [];
  if (!field.default) return ["default=None"];
  const { value } = field.default;
  const isPlain = typeof value !== "object" || value === null;
  const needsReading = value !== null && !isPlainType(field.type);
  const text = renderPython(value);
  return [
    isPlain ? `default=${text}` : `default_factory=lambda: ${text}`,
    ...(needsReading ? ["validate_default=True"] : []),
  ];
}

function isPlainType(type: Type): boolean {
  if (type.kind === "list") return isPlainType(type.items);
  if (type.kind === "map") return isPlainType(type.values);
  if (type.kind === "union") return type.members.every(isPlainType);
  return !["model", "format", "tuple"].includes(type.kind);
}

export function renderType(type: Type): string {
  switch (type.kind) {
    case "any":
      return "Any";
    case "null":
      return "None";
    case "boolean":
      return "bool";
    case "integer":
      return "int";
    case "number":
      return "float";
    case "string":
      return "str";
    case "format":
      return FORMATS[type.format];
    case "literal":
      return renderLiteral(type.values);
    case "list":
      return `list[${renderType(type.items)}]`;
    case "tuple":
      return `tuple[${type.items.map(renderType).join(", ")}]`;
    case "map":
      return `dict[str, ${renderType(type.values)}]`;
    case "union": {
      const members = [...new Set(type.members.map(renderType))];
      return [...members.filter((member) => member !== "None"), ...members.filter((member) => member === "None")].join(
        " | ",
      );
    }
    case "model":
      return type.name;
  }
}

const FORMATS = { "date-time": "datetime", date: "date", uuid: "UUID" } as const;

/** Python's Literal has no floats, and a number beyond the safe integers is rendered as a float. */
function renderLiteral(values: readonly unknown[]): string {
  const isNullable = values.includes(null);
  const others = values.filter((value) => value !== null);
  const hasFraction = others.some((value) => typeof value === "number" && !Number.isSafeInteger(value));
  const text = hasFraction
    ? [...new Set(others.map(typeName))].join(" | ")
    : `Literal[${others.map(renderPython).join(", ")}]`;
  return isNullable ? `${text} | None` : text;
}

function typeName(value: unknown): string {
  return typeof value === "number" ? "float" : typeof value === "boolean" ? "bool" : "str";
}

/** A result of openenv-ts has the reward, done and the metadata. */
const BASE_CLASSES = `class Action(BaseModel):
    model_config = ConfigDict(extra="forbid")

    metadata: dict[str, Any] = Field(default_factory=dict)


class Observation(BaseModel):
    model_config = ConfigDict(extra="forbid")


class State(BaseModel):
    model_config = ConfigDict(extra="allow")

    episode_id: str | None = None
    step_count: int = 0`;

function renderImports(code: string, base: PythonBase): string {
  const uses = (word: string): boolean => new RegExp(`\\b${word}\\b`).test(code.replace(/"(?:[^"\\]|\\.)*"/g, '""'));
  const from = (module: string, words: string[]): string[] => {
    const used = words.filter(uses);
    return used.length === 0 ? [] : [`from ${module} import ${used.join(", ")}`];
  };
  const own = [
    ...from("datetime", ["date", "datetime"]),
    ...from("typing", ["Any", "Literal"]),
    ...from("uuid", ["UUID"]),
  ];
  const others = [
    ...(base === "openenv-ts" ? [] : ["from openenv.core.env_server.types import Action, Observation, State"]),
    ...from("pydantic", ["BaseModel", "ConfigDict", "Field"]),
  ];
  return [own.join("\n"), others.join("\n")].filter(Boolean).join("\n\n");
}

export function renderImport(module: string, names: readonly string[]): string {
  const line = `from .${module} import ${names.join(", ")}`;
  return line.length <= MAX_LINE
    ? line
    : `from .${module} import (\n${names.map((name) => `    ${name},\n`).join("")})`;
}

/** Whether the action itself is a tool call; its observation is then the declared one. */
export function isToolCall(action: Model): boolean {
  return action.fields.some(
    ({ name, type }) =>
      name === "type" && type.kind === "literal" && type.values.length === 1 && type.values[0] === "call_tool",
  );
}

/** Escapes text for a docstring. */
export function docstring(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"""', "'''").replace(/"$/, '\\"');
}
