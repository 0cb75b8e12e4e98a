import type { Fault } from "../errors.js";
import { clip } from "../util/text/clip.js";
import type { JsonObject } from "./messages.js";

/** JSON-RPC 2.0 as in the Python package. Only `data` of an error is always an object here, with the `fault`. */
export const RPC_ERRORS = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  server: -32000,
} as const;

const OF_CLIENT: readonly number[] = [
  RPC_ERRORS.parse,
  RPC_ERRORS.invalidRequest,
  RPC_ERRORS.methodNotFound,
  RPC_ERRORS.invalidParams,
];

/** Maximum length of an id in characters. */
const MAX_ID = 1000;
/** Maximum length of an echoed name, and maximum number of listed problems. */
const MAX_ECHO = 100;
const MAX_WRONG = 20;

export type RpcId = string | number | null;

export interface RpcRequest {
  id: RpcId;
  method: string;
  params: JsonObject;
}

export type RpcResponse =
  | { jsonrpc: "2.0"; id: RpcId; result: unknown }
  | { jsonrpc: "2.0"; id: RpcId; error: { code: number; message: string; data: RpcErrorData } };

export type RpcErrorData = JsonObject & { fault: Fault };

/** Thrown by a method handler; becomes the error of the response. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: RpcErrorData;

  /** `data` has a `fault` unless the code says who caused the error. */
  constructor(code: number, message: string, data: JsonObject & { fault?: Fault } = {}) {
    super(message);
    this.code = code;
    this.data = { ...data, fault: data.fault ?? (OF_CLIENT.includes(code) ? "client" : "infrastructure") };
  }
}

/** @throws RpcError (−32600) naming the invalid keys. */
export function parseRpcRequest(value: JsonObject): RpcRequest {
  const wrong: string[] = [];
  if (value["jsonrpc"] !== "2.0") wrong.push('"jsonrpc" must be "2.0"');
  if (typeof value["method"] !== "string") wrong.push('"method" must be a string');
  const params = "params" in value ? value["params"] : {};
  if (typeof params !== "object" || params === null || Array.isArray(params)) wrong.push('"params" must be an object');
  if (parseId(value) === undefined) {
    wrong.push(`"id" must be a string of at most ${MAX_ID} characters, an integer or null`);
  }
  for (const key in value) {
    if (key === "jsonrpc" || key === "method" || key === "params" || key === "id") continue;
    wrong.push(`"${clip(key, MAX_ECHO)}" is unknown`);
    if (wrong.length >= MAX_WRONG) break;
  }
  if (wrong.length > 0) throw new RpcError(RPC_ERRORS.invalidRequest, `Invalid request: ${wrong.join("; ")}`);
  return { id: parseId(value) as RpcId, method: value["method"] as string, params: params as JsonObject };
}

/** The id for the response, also to an invalid request; null when the request has no valid id. */
export function rpcIdOf(value: unknown): RpcId {
  return typeof value === "object" && value !== null ? (parseId(value as JsonObject) ?? null) : null;
}

export function rpcFailure(id: RpcId, error: RpcError): RpcResponse {
  return { jsonrpc: "2.0", id, error: { code: error.code, message: error.message, data: error.data } };
}

function parseId(value: JsonObject): RpcId | undefined {
  const id = value["id"];
  if (id === undefined || id === null) return null;
  if (typeof id === "boolean") return id ? 1 : 0;
  if (typeof id !== "string") return Number.isInteger(id) ? (id as number) : undefined;
  return clip(id, MAX_ID) === id ? id : undefined;
}
