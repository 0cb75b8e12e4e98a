import type { ClientTypes, Model, ModelField, ToolType, Type } from "../types.js";

/** The declarations of an environment's types. */
export function renderTypeScriptTypes(types: ClientTypes): string {
  return [
    renderInterface(types.action, "sent", "What an agent sends in a step."),
    renderInterface(types.observation, "received", "What reset and step show, beside reward, done and metadata."),
    renderInterface(
      types.state,
      "received",
      "What the environment tells about an episode, beside its id and its steps.",
    ),
    ...types.models.map((model) => renderInterface(model, "both", "")),
    ...types.tools.filter(hasArguments).map(({ input, name }) => renderInterface(input, "sent", `What ${name} takes.`)),
  ].join("\n\n");
}

/** What each tool takes and gives, by its name. */
export function renderToolTypes(tools: readonly ToolType[], name: string): string {
  const lines = tools.map((tool) => {
    const input = hasArguments(tool) ? tool.input.name : "Record<string, never>";
    const members = `{ input: ${input}; output: ${renderType(tool.output)} }`;
    return `${renderComment(tool.description, "  ")}  ${renderKey(tool.name)}: ${members};\n`;
  });
  return `/** The tools of the environment: what they take and what they return. */\nexport type ${name} = {\n${lines.join("")}};`;
}

function hasArguments({ input }: ToolType): boolean {
  return input.fields.length > 0;
}

/** A field with a default may be left out by who sends it, and is there for who receives it. */
type Direction = "sent" | "received" | "both";

function renderInterface(model: Model, direction: Direction, otherwise: string): string {
  const lines = model.fields.map(
    (field) => `${renderComment(field.description, "  ")}  ${renderField(field, direction)}`,
  );
  if (model.extra === "allow") lines.push("  [key: string]: unknown;");
  const comment = renderComment(model.description || otherwise, "");
  // A type instead of an interface: one without an index signature still is a JSON object.
  return `${comment}export type ${model.name} = {\n${lines.map((line) => `${line}\n`).join("")}};`;
}

function renderField(field: ModelField, direction: Direction): string {
  const isThere = field.required || (direction === "received" && field.default !== undefined);
  return `${renderKey(field.name)}${isThere ? "" : "?"}: ${renderType(field.type)};`;
}

function renderKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function renderType(type: Type): string {
  switch (type.kind) {
    case "any":
      return "unknown";
    case "null":
    case "boolean":
    case "number":
    case "string":
      return type.kind;
    case "integer":
      return "number";
    case "format":
      return "string";
    case "literal":
      return type.values.map((value) => JSON.stringify(value)).join(" | ");
    case "list":
      return `Array<${renderType(type.items)}>`;
    case "tuple":
      return `[${type.items.map(renderType).join(", ")}]`;
    case "map":
      return `Record<string, ${renderType(type.values)}>`;
    case "union":
      return [...new Set(type.members.map(renderType))].join(" | ");
    case "model":
      return type.name;
  }
}

function renderComment(text: string, indent: string): string {
  return text === "" ? "" : `${indent}/** ${text.replaceAll("*/", "*\\/")} */\n`;
}
