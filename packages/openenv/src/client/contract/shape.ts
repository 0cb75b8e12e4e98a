import { ConnectionError, RemoteError, type ValidationIssue } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { isToolAction, lacksToolType, MISSING_TOOL_TYPE } from "../../protocol/tools.js";
import type { ClientContract, SchemaIssue } from "./contract.js";

/** Checks and converts the values that a client sends and receives. */
export interface Shape {
  /**
   * Encodes an action, or the reset options that the contract declares, for the wire.
   * @throws RemoteError VALIDATION_ERROR, like the server, when the value is invalid; nothing was sent.
   */
  write(part: "action" | "reset", value: unknown): JsonObject;
  /** @throws ConnectionError PROTOCOL_ERROR that names the invalid fields. */
  read(part: "observation" | "resetObservation" | "state", fields: JsonObject): JsonObject;
  /** Reads the observation of a step; a tool call does not return the contract's. `action` is the result of `write`. */
  readStep(action: JsonObject, fields: JsonObject): JsonObject;
  /** The names of the tools. */
  readonly tools: readonly string[];
  /** Encodes the arguments of a tool for the wire. Invalid arguments are sent unchanged: the server answers them. */
  writeCall(tool: string, given: JsonObject): JsonObject;
  /** Reads the result of a tool. @throws ConnectionError PROTOCOL_ERROR when it does not match its schema. */
  readCall(tool: string, data: unknown): unknown;
}

/** The shape of a contract. With `raw`, the codec of the frame encodes bytes. */
export function contractShape(contract: ClientContract, { raw = false } = {}): Shape {
  const tools = contract.tools ?? {};
  const hasTools = Object.keys(tools).length > 0;
  const isToolStep = (action: unknown): boolean => hasTools && isToolAction(action as JsonObject);
  const misfit = (part: string, issues: readonly SchemaIssue[]): ConnectionError => {
    const what = issues.map((issue) => `${[part, ...issue.path].join(".")}: ${issue.message}`);
    const message = `The server's answer does not match the contract "${contract.name}": ${what.join("; ")}.`;
    return new ConnectionError("PROTOCOL_ERROR", message);
  };
  const read: Shape["read"] = (part, fields) => {
    const parsed = (contract[part] ?? contract.observation).safeParse(fields);
    if (parsed.success) return parsed.data as JsonObject;
    throw misfit(part === "state" ? part : "observation", parsed.error.issues);
  };
  return {
    write: (part, value) => {
      if (part === "action" && isToolStep(value)) return value as JsonObject;
      const parsed = contract[part].safeParse(value);
      if (!parsed.success) {
        const issues = describeIssues(value, parsed.error.issues);
        throw refusal(part, hasTools && part === "action" ? withToolType(value, issues) : issues);
      }
      return encodeBytes(value, parsed.data, raw) as JsonObject;
    },
    read,
    readStep: (action, fields) => (contract.toolsOnly || isToolStep(action) ? fields : read("observation", fields)),
    tools: Object.keys(tools),
    writeCall: (tool, given) => {
      const parsed = tools[tool]?.input?.safeParse(given);
      return parsed?.success === true ? (encodeBytes(given, parsed.data, raw) as JsonObject) : given;
    },
    readCall: (tool, data) => {
      const parsed = tools[tool]?.output?.safeParse(data);
      if (parsed?.success === false) throw misfit(`tools.${tool}`, parsed.error.issues);
      return parsed === undefined ? data : parsed.data;
    },
  };
}

/** The shape without a contract. `findIssues` checks all actions except tool calls. */
export function genericShape(findIssues: (action: unknown) => ValidationIssue[], tools: readonly string[] = []): Shape {
  const hasTools = tools.length > 0;
  return {
    write: (part, value) => {
      const isChecked = part === "action" && !(hasTools && isToolAction(value as JsonObject));
      const errors = isChecked ? findIssues(value) : [];
      if (errors.length > 0) throw refusal(part, hasTools ? withToolType(value, errors) : errors);
      return value as JsonObject;
    },
    read: (_part, fields) => fields,
    readStep: (_action, fields) => fields,
    tools,
    writeCall: (_tool, given) => given,
    readCall: (_tool, data) => data,
  };
}

function refusal(part: string, errors: ValidationIssue[]): RemoteError {
  const what = errors.map(({ loc, msg }) => `${[part, ...loc].join(".")}: ${msg}`).join("; ");
  return new RemoteError("VALIDATION_ERROR", `Invalid ${part}, nothing was sent: ${what}.`, { errors });
}

function withToolType(input: unknown, issues: ValidationIssue[]): ValidationIssue[] {
  if (!lacksToolType(input)) return issues;
  return [{ type: "missing", loc: ["type"], msg: MISSING_TOOL_TYPE, input }, ...issues];
}

function describeIssues(value: unknown, issues: readonly SchemaIssue[]): ValidationIssue[] {
  return issues.flatMap(inUnion).map((issue) => ({
    type: issue.code ?? "invalid",
    loc: issue.path.map((key) => (typeof key === "number" ? key : String(key))),
    msg: issue.message,
    input: valueAt(value, issue.path),
  }));
}

/** The issues of each variant of a union, instead of one that says nothing. */
function inUnion(issue: SchemaIssue): SchemaIssue[] {
  const { errors = [] } = issue as { errors?: SchemaIssue[][] };
  const inner = errors.flat().flatMap((one) => inUnion({ ...one, path: [...issue.path, ...one.path] }));
  return inner.length === 0 ? [issue] : inner;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value);
}

/**
 * Returns `sent` with each byte array replaced by the form that its field gives it: base64 or a data URL, or with `raw`
 * bytes that JSON writes as base64. Only the field knows the form, so it is taken from `parsed`, the output of the
 * schema for `sent`. Other values are not changed: the server parses them.
 */
function encodeBytes(sent: unknown, parsed: unknown, raw = false): unknown {
  if (typeof sent !== "object" || sent === null) return sent;
  if (ArrayBuffer.isView(sent)) return (raw ? parsed : jsonForm(parsed)) ?? sent;
  let copy: Record<string, unknown> | undefined;
  for (const [key, value] of Object.entries(sent)) {
    const encoded = encodeBytes(value, (parsed as Record<string, unknown> | undefined)?.[key], raw);
    if (encoded === value) continue;
    copy ??= (Array.isArray(sent) ? [...sent] : { ...sent }) as Record<string, unknown>;
    copy[key] = encoded;
  }
  return copy ?? sent;
}

function jsonForm(value: unknown): unknown {
  const { toJSON } = (value ?? {}) as { toJSON?: () => unknown };
  return typeof toJSON === "function" ? toJSON.call(value) : value;
}
