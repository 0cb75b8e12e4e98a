import { ConnectionError, RemoteError, type ValidationIssue } from "../../errors.js";
import type { JsonObject } from "../../protocol/messages.js";
import { isToolAction, lacksToolType, MISSING_TOOL_TYPE } from "../../protocol/tools.js";
import type { ClientContract, SchemaIssue } from "./contract.js";

/** What a client knows about the values of its environment. */
export interface Shape {
  /**
   * What goes on the wire for an action, or for the environment's own reset options.
   * @throws RemoteError VALIDATION_ERROR when it does not fit, as the server would; nothing was sent then.
   */
  write(part: "action" | "reset", value: unknown): JsonObject;
  /** @throws ConnectionError PROTOCOL_ERROR that names the fields which do not fit. */
  read(part: "observation" | "state", fields: JsonObject): JsonObject;
  /** What a step showed, by what `write` returned for its action: the answer to a call of a tool is no observation of the contract. */
  readStep(action: JsonObject, fields: JsonObject): JsonObject;
  /** The names of the tools. */
  readonly tools: readonly string[];
  /** What goes on the wire for the arguments of a tool. Wrong ones go as they are: the answer to them is the server's. */
  writeCall(tool: string, given: JsonObject): JsonObject;
  /** What a tool returned. @throws ConnectionError PROTOCOL_ERROR when it does not fit. */
  readCall(tool: string, data: unknown): unknown;
}

/** Values as the contract declares them. With `raw`, bytes are left to whoever writes the frame. */
export function contractShape(contract: ClientContract, { raw = false } = {}): Shape {
  const tools = contract.tools ?? {};
  const hasTools = Object.keys(tools).length > 0;
  const isToolStep = (action: unknown): boolean => hasTools && isToolAction(action as JsonObject);
  const misfit = (part: string, issues: readonly SchemaIssue[]): ConnectionError => {
    const what = issues.map((issue) => `${[part, ...issue.path].join(".")}: ${issue.message}`);
    const message = `The server's answer does not fit the contract "${contract.name}": ${what.join("; ")}.`;
    return new ConnectionError("PROTOCOL_ERROR", message);
  };
  const read = (part: "observation" | "state", fields: JsonObject): JsonObject => {
    const parsed = contract[part].safeParse(fields);
    if (parsed.success) return parsed.data as JsonObject;
    throw misfit(part, parsed.error.issues);
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

/** Values as they come; actions are checked with `findIssues`, but for those that every environment with tools takes. */
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
  return new RemoteError("VALIDATION_ERROR", `Nothing was sent, it does not fit its schema: ${what}.`, { errors });
}

function withToolType(input: unknown, issues: ValidationIssue[]): ValidationIssue[] {
  if (!lacksToolType(input)) return issues;
  return [{ type: "missing", loc: ["type"], msg: MISSING_TOOL_TYPE, input }, ...issues];
}

function describeIssues(value: unknown, issues: readonly SchemaIssue[]): ValidationIssue[] {
  return issues.map((issue) => ({
    type: issue.code ?? "invalid",
    loc: issue.path.map((key) => (typeof key === "number" ? key : String(key))),
    msg: issue.message,
    input: valueAt(value, issue.path),
  }));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value);
}

/**
 * `sent` with every array of bytes in it as its field writes it (base64, a data URL), or with `raw` as its field has it:
 * bytes that JSON writes as base64. Only the field knows, so the form is taken from `parsed`, what the schema made of
 * `sent`. The rest stays as it is: the server parses it itself.
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
