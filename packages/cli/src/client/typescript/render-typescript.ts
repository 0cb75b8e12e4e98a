import type { Alias, ClientTypes, Model, ModelField, ToolType, Type } from "../types.js";

/** The type declarations of an environment. */
export function renderTypeScriptTypes(types: ClientTypes): string {
  return [
    renderInterface(types.action, "sent", "The action that an agent sends in a step."),
    renderInterface(
      types.observation,
      "received",
      "The observation that reset and step return, next to reward, done and metadata.",
    ),
    renderInterface(
      types.state,
      "received",
      "The state of an episode, in addition to its ID and the number of its steps.",
    ),
    ...types.models.map((model) => renderInterface(model, "both", "")),
    ...types.aliases.map(renderAlias),
    ...types.tools
      .filter(hasArguments)
      .map(({ input, name }) => renderInterface(input, "sent", `The arguments of ${name}.`)),
  ].join("\n\n");
}

/** The input and output of each tool, by its name. */
export function renderToolTypes(tools: readonly ToolType[], name: string): string {
  const lines = tools.map((tool) => {
    const input = hasArguments(tool) ? tool.input.name : "Record<string, never>";
    const members = `{ input: ${input}; output: ${renderType(tool.output)} }`;
    return `${renderComment(tool.description, "  ")}  ${renderKey(tool.name)}: ${members};\n`;
  });
  return `/** The tools of the environment, with their inputs and outputs. */\nexport type ${name} = {\n${lines.join("")}};`;
}

function hasArguments({ input }: ToolType): boolean {
  return input.fields.length > 0;
}

/** The sender may omit a field with a default; the receiver always gets it. */
type Direction = "sent" | "received" | "both";

function renderInterface(model: Model, direction: Direction, otherwise: string): string {
  const comment = renderComment(model.description || otherwise, "");
  return `${comment}export type ${model.name} = ${renderBody(model, direction)};`;
}

/** A type, not an interface, which could not be assigned to a JSON object without an index signature. */
function renderBody(model: Model, direction: Direction): string {
  if (model.variants) return renderType(model.variants);
  const lines = model.fields.map(
    (field) => `${renderComment(field.description, "  ")}  ${renderField(field, model, direction)}`,
  );
  // The type of the other members would have to include those of the fields.
  const values = model.fields.length === 0 && model.extraValues ? renderType(model.extraValues) : "unknown";
  if (model.extra === "allow") lines.push(`  [key: string]: ${values};`);
  return lines.length === 0 ? "Record<string, never>" : `{\n${lines.map((line) => `${line}\n`).join("")}}`;
}

function renderAlias({ name, type }: Alias): string {
  return `export type ${name} = ${renderType(type)};`;
}

function renderField(field: ModelField, { tags }: Model, direction: Direction): string {
  const isTag = tags.has(field.name);
  const isThere = isTag || field.required || (direction === "received" && field.default !== undefined);
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
      return type.format === "decimal" ? "number | string" : "string";
    case "literal":
      return type.values.map((value) => JSON.stringify(value)).join(" | ");
    case "list":
      return `Array<${renderType(type.items)}>`;
    case "tuple":
      return `[${type.items.map(renderType).join(", ")}]`;
    case "map": {
      const keys = type.keys.kind === "integer" ? "number" : renderType(type.keys);
      // A type may refer to itself in a mapped type, not in the parameter of Record.
      if (JSON.stringify(type.values).includes('"kind":"alias"')) {
        return `{ [key in ${keys}]${type.keys.kind === "literal" && !type.isComplete ? "?" : ""}: ${renderType(type.values)} }`;
      }
      const record = `Record<${keys}, ${renderType(type.values)}>`;
      return type.keys.kind === "literal" && !type.isComplete ? `Partial<${record}>` : record;
    }
    case "union":
      return [...new Set(type.members.map(renderType))].join(" | ");
    case "model":
    case "alias":
      return type.name;
  }
}

function renderComment(text: string, indent: string): string {
  return text === "" ? "" : `${indent}/** ${text.replaceAll("*/", "*\\/")} */\n`;
}
