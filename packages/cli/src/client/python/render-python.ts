import { renderPython } from "openenv-ts/internal";
import type { Alias, ClientTypes, Format, Model, ModelField, Type, Union } from "../types.js";
import { pythonField } from "./python-names.js";

export const MAX_LINE = 88;

/** The package that a client stands on: the one of this repository, or the released one alone. */
export type PythonBase = "openenv-ts" | "openenv";

/** The module with the typed classes of actions, observations and state. */
export function renderPythonModels(types: ClientTypes, base: PythonBase): string {
  const names = classNames(types);
  const inputs = types.tools.map(({ input }) => input).filter(({ fields }) => fields.length > 0);
  const classes = [
    ...(types.aliases.length > 0 ? [types.aliases.map(renderAlias).join("\n")] : []),
    ...types.models.map((model) => renderClass(model, "BaseModel", names)),
    ...inputs.map((model) => renderClass(model, "Arguments", names)),
    types.action.variants
      ? renderUnionClass(types.action, types.action.variants)
      : renderClass(types.action, "Action", names),
    renderClass(types.observation, "Observation", names),
    renderClass(types.state, "State", names),
  ];
  if (base === "openenv-ts")
    classes.unshift(types.action.variants ? OTHER_BASES : `${ACTION_BASE}\n\n\n${OTHER_BASES}`);
  if (usesWord("Key", wordsOf(classes.join("\n"), types.aliases))) classes.unshift(KEY);
  const code = classes.join("\n\n\n");
  return `from __future__ import annotations

${renderImports(code, types, base)}


${code}
`;
}

/** The names of all classes, which fields must not use. */
export function classNames({ models, aliases, action, observation, state, tools }: ClientTypes): ReadonlySet<string> {
  const inputs = tools.map(({ input }) => input);
  return new Set([...models, ...aliases, action, observation, state, ...inputs].map(({ name }) => name));
}

/** What a step accepts: the class of the action, and those of its variants. */
export function actionClasses({ name, variants }: Model): string[] {
  return [name, ...(variants?.members ?? []).flatMap((member) => (member.kind === "model" ? [member.name] : []))];
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
  const keys = base === "Observation" || base === "State" ? "str" : "Key";
  const lines = fields.map(({ name, field }) => renderField(name, field, keys));
  const parts = [
    `    """${docstring(model.description || DOCSTRINGS[base] || `${model.name}.`)}"""`,
    renderConfig(model, base, fields),
    model.extraValues === undefined
      ? ""
      : `    __pydantic_extra__: dict[str, ${renderType(model.extraValues, keys)}] = Field(init=False)`,
    lines.join("\n"),
    renderTags(model, fields),
  ].filter(Boolean);
  return `class ${model.name}(${base === "Arguments" ? "BaseModel" : base}):\n${parts.join("\n\n")}`;
}

/** The default of a tag counts as set, because unset fields are not sent. */
function renderTags({ tags }: Model, fields: { name: string; field: ModelField }[]): string {
  const set = fields.filter(({ field }) => tags.has(field.name) && !field.required);
  if (set.length === 0) return "";
  return `    def model_post_init(self, _context: Any, /) -> None:
        # Without it the server cannot tell the variants apart.
        self.__pydantic_fields_set__.update([${set.map(({ name }) => JSON.stringify(name)).join(", ")}])`;
}

function renderUnionClass({ name, description }: Model, variants: Union): string {
  const text = description || "The action that an agent sends in a step, as one of its variants.";
  return `class ${name}(RootModel[${renderType(variants, "Key")}]):\n    """${docstring(text)}"""`;
}

/** The quotes allow the type to contain itself. */
function renderAlias({ name, type }: Alias): string {
  return `${name} = TypeAliasType("${name}", ${JSON.stringify(renderType(type, "Key"))})`;
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

function renderField(name: string, field: ModelField, keys: string): string {
  const type = renderType(field.type, keys);
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
  return !["model", "alias", "format", "tuple"].includes(type.kind);
}

/** `keys` is the class of the keys of dictionaries: a dictionary that is sent may have numbers. */
export function renderType(type: Type, keys = "str"): string {
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
      return FORMAT_CLASSES[type.format];
    case "literal":
      return renderLiteral(type.values);
    case "list":
      return `list[${renderType(type.items, keys)}]`;
    case "tuple":
      return `tuple[${type.items.map((item) => renderType(item, keys)).join(", ")}]`;
    case "map":
      return `dict[${type.keys.kind === "string" ? keys : renderType(type.keys)}, ${renderType(type.values, keys)}]`;
    case "union":
      return renderUnion(type, keys);
    case "model":
    case "alias":
      return type.name;
  }
}

/** The class of a tag is unknown here: the fields of all variants have the same name in Python unless it is taken. */
function renderUnion({ members, tag }: Union, keys: string): string {
  const types = [...new Set(members.map((member) => renderType(member, keys)))];
  const others = types.filter((member) => member !== "None").join(" | ");
  const field = tag === undefined ? undefined : pythonField(tag, new Set());
  const union = field === undefined ? others : `Annotated[${others}, Field(discriminator=${JSON.stringify(field)})]`;
  return types.includes("None") ? `${union} | None` : union;
}

const FORMAT_CLASSES: Record<Format, string> = {
  "date-time": "datetime",
  date: "date",
  time: "Time",
  duration: "timedelta",
  uuid: "UUID",
  binary: "bytes",
  decimal: "Decimal",
};

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

/** JSON has only strings as keys; numbers are converted, as json.dumps does. */
const KEY = "Key = Annotated[str, Field(coerce_numbers_to_str=True)]";

const ACTION_BASE = `class Action(BaseModel):
    model_config = ConfigDict(extra="forbid")

    metadata: dict[str, Any] = Field(default_factory=dict)`;

/** A result of openenv-ts has the reward, done and the metadata. */
const OTHER_BASES = `class Observation(BaseModel):
    model_config = ConfigDict(extra="forbid")


class State(BaseModel):
    model_config = ConfigDict(extra="allow")

    episode_id: str | None = None
    step_count: int = 0`;

/** The code with the types of aliases, which are in strings there. */
function wordsOf(code: string, aliases: readonly Alias[]): string {
  return [code, ...aliases.map(({ type }) => renderType(type, "Key"))].join("\n");
}

/** True when code has a word, not counting those in strings. */
function usesWord(word: string, code: string): boolean {
  return new RegExp(`\\b${word}\\b`).test(code.replace(/"(?:[^"\\]|\\.)*"/g, '""'));
}

/** The lines that import what code uses of the standard library: module, then names. */
export function renderStandardImports(code: string, typing: readonly string[]): string[] {
  const from = (module: string, words: readonly string[]): string[] => {
    const used = words.filter((word) => usesWord(word.split(" ").at(-1) ?? word, code));
    return used.length === 0 ? [] : [`from ${module} import ${used.join(", ")}`];
  };
  return [
    ...from("datetime", ["date", "datetime", "time as Time", "timedelta"]),
    ...from("decimal", ["Decimal"]),
    ...from("typing", typing),
    ...from("uuid", ["UUID"]),
  ];
}

function renderImports(code: string, { action, aliases }: ClientTypes, base: PythonBase): string {
  const words = wordsOf(code, aliases);
  const own = renderStandardImports(words, ["Annotated", "Any", "Literal"]);
  const bases = action.variants ? "Observation, State" : "Action, Observation, State";
  const pydantic = ["BaseModel", "ConfigDict", "Field", "RootModel"].filter((word) => usesWord(word, words));
  const others = [
    ...(base === "openenv-ts" ? [] : [`from openenv.core.env_server.types import ${bases}`]),
    ...(pydantic.length > 0 ? [`from pydantic import ${pydantic.join(", ")}`] : []),
    ...(aliases.length > 0 ? ["from typing_extensions import TypeAliasType"] : []),
  ];
  return [own.join("\n"), others.join("\n")].filter(Boolean).join("\n\n");
}

export function renderImport(module: string, names: readonly string[]): string {
  const line = `from .${module} import ${names.join(", ")}`;
  return line.length <= MAX_LINE
    ? line
    : `from .${module} import (\n${names.map((name) => `    ${name},\n`).join("")})`;
}

/** True when the action itself is a tool call; its observation is then the declared one. */
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
