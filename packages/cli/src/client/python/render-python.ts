import { renderPython } from "openenv-ts/internal";
import type { ClientTypes, Model, ModelField, Type } from "../types.js";
import { pythonField } from "./python-names.js";

const MAX_LINE = 88;

/** The module of the typed classes: what an agent sends, sees and may ask for. */
export function renderPythonModels(types: ClientTypes, head: string): string {
  const names = classNames(types);
  const inputs = types.tools.map(({ input }) => input).filter(({ fields }) => fields.length > 0);
  const classes = [
    ...types.models.map((model) => renderClass(model, "BaseModel", names)),
    ...inputs.map((model) => renderClass(model, "Arguments", names)),
    renderClass(types.action, "Action", names),
    renderClass(types.observation, "Observation", names),
    renderClass(types.state, "State", names),
  ];
  const code = classes.join("\n\n\n");
  return `${head}
from __future__ import annotations

${renderImports(code)}


${code}
`;
}

/** Names of classes, which no field may have. */
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
  // What the methods of tools have beside their arguments.
  Arguments: ["self", "UNSET"],
  Observation: ["done", "reward", "metadata"],
  State: ["episode_id", "step_count"],
};
const DOCSTRINGS: Record<string, string> = {
  Action: "What an agent sends in a step.",
  Observation: "What reset and step show.",
  State: "What the environment tells about an episode.",
};
/** What the base classes do with unknown fields. */
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
    ...(name === field.name ? [] : [`alias=${JSON.stringify(field.name)}`]),
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

/** Of a class or a date the default stands in the schema as JSON: pydantic reads it when it checks it. */
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

/** Python's Literal has no floats, and a number beyond the safe integers is written as one. */
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

function renderImports(code: string): string {
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
    "from openenv.core.env_server.types import Action, Observation, State",
    ...from("pydantic", ["BaseModel", "ConfigDict", "Field"]),
  ];
  return [own.join("\n"), others.join("\n")].filter(Boolean).join("\n\n");
}

/** As text between three quotes. */
export function docstring(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"""', "'''").replace(/"$/, '\\"');
}
