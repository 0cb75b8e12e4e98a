import { ConnectionError, RemoteError, type ValidationIssue } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import type { ClientContract, ClientSchema, SchemaIssue } from "./contract.js";

/** What a client knows about the values of its environment. */
export interface Shape {
  /** @throws RemoteError VALIDATION_ERROR, as the server would; nothing was sent then. */
  checkAction(action: unknown): void;
  /** @throws ConnectionError PROTOCOL_ERROR that names the field. */
  readObservation(fields: JsonObject): unknown;
  readState(fields: JsonObject): JsonObject;
}

/** Values as the contract declares them. What is received is parsed, what is sent only checked: the server parses it. */
export function contractShape(contract: ClientContract): Shape {
  const read = (part: "observation" | "state", value: JsonObject): unknown => {
    const parsed = contract[part].safeParse(value);
    if (parsed.success) return parsed.data;
    const fields = parsed.error.issues.map((issue) => `${[part, ...issue.path].join(".")}: ${issue.message}`);
    throw new ConnectionError(
      "PROTOCOL_ERROR",
      `The server's answer does not fit the contract "${contract.name}": ${fields.join("; ")}.`,
    );
  };
  return {
    checkAction: (action) => refuse(schemaIssues(contract.action, action)),
    readObservation: (fields) => read("observation", fields),
    readState: (fields) => read("state", fields) as JsonObject,
  };
}

/** Values as they come; actions are checked with `findIssues`. */
export function genericShape(findIssues: (action: unknown) => ValidationIssue[]): Shape {
  return {
    checkAction: (action) => refuse(findIssues(action)),
    readObservation: (fields) => fields,
    readState: (fields) => fields,
  };
}

function refuse(errors: ValidationIssue[]): void {
  if (errors.length === 0) return;
  const what = errors.map(({ loc, msg }) => (loc.length > 0 ? `${loc.join(".")}: ${msg}` : msg));
  throw new RemoteError(
    "VALIDATION_ERROR",
    `The action was not sent, it does not fit its schema: ${what.join("; ")}.`,
    {
      errors,
    },
  );
}

function schemaIssues(schema: ClientSchema, value: unknown): ValidationIssue[] {
  const parsed = schema.safeParse(value);
  if (parsed.success) return [];
  return parsed.error.issues.map((issue: SchemaIssue) => ({
    type: issue.code ?? "invalid",
    loc: issue.path.map((key) => (typeof key === "number" ? key : String(key))),
    msg: issue.message,
    input: valueAt(value, issue.path),
  }));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value);
}
