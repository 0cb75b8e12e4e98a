import type { ClientTypes, Field, Model, Type } from "./types.js";

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
  ].join("\n\n");
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

function renderField(field: Field, direction: Direction): string {
  const isThere = field.required || (direction === "received" && field.default !== undefined);
  const name = /^[A-Za-z_$][\w$]*$/.test(field.name) ? field.name : JSON.stringify(field.name);
  return `${name}${isThere ? "" : "?"}: ${renderType(field.type)};`;
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
