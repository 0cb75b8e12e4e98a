import { isJsonContentType, ProtocolError, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../protocol/messages.js";
import { toCallToolResult } from "../../protocol/tool-server.js";
import type { AgentOutcome } from "../../protocol/tools.js";
import type { ToolRequest } from "../../session/calls/tool-call.js";
import { metaTrace } from "../../session/doors/rpc.js";
import { serializationFailure, serializeReply } from "../../session/messages/message-codec.js";
import { isObject } from "../../util/is-object.js";
import { headerTrace } from "../http/http-session.js";
import type { IncomingRequest } from "./fetch-adapter.js";

/** A `tools/call` request that needs nothing of the SDK. */
export interface DirectCall {
  id: string | number;
  request: ToolRequest;
  /** The client wants to be notified of progress by this token. */
  progressToken: string | number | undefined;
  traceparent: string | undefined;
}

/**
 * Reads a valid `tools/call` of a client that has initialized. The SDK would create a web request, two streams, an abort
 * controller and a context for it, and check the message against a dozen schemas: seven times the work of the call itself.
 * Undefined for everything else, which the SDK answers.
 */
export function readDirectCall({ request, value }: IncomingRequest): DirectCall | undefined {
  if (request.method !== "POST" || !isObject(value) || value["method"] !== "tools/call") return undefined;
  const { jsonrpc, id, params } = value;
  if (jsonrpc !== "2.0" || !isId(id) || !isObject(params) || hasOthers(value, REQUEST_KEYS)) return undefined;
  const { name, arguments: given = {}, _meta = {} } = params;
  if (typeof name !== "string" || !isObject(given) || !isObject(_meta) || hasOthers(params, PARAM_KEYS))
    return undefined;
  const { progressToken } = _meta;
  if (progressToken !== undefined && !isId(progressToken)) return undefined;
  const { "content-type": type, "mcp-protocol-version": version } = request.headers;
  if (!isJsonContentType(type ?? null)) return undefined;
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(String(version))) return undefined;
  const traceparent = metaTrace(params, { traceparent: headerTrace(request) });
  return { id, request: { name, given }, progressToken, traceparent };
}

const REQUEST_KEYS: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);
const PARAM_KEYS: ReadonlySet<string> = new Set(["name", "arguments", "_meta"]);

function isId(id: unknown): id is string | number {
  return typeof id === "string" || Number.isSafeInteger(id);
}

function hasOthers(value: JsonObject, known: ReadonlySet<string>): boolean {
  for (const key in value) if (!known.has(key)) return true;
  return false;
}

/** Renders the response to a call. A result that cannot be encoded or is too large is a failure of the tool. */
export function renderCall(id: string | number, outcome: AgentOutcome, maxBytes: number): string {
  try {
    const result = toCallToolResult(outcome);
    try {
      return serializeReply({ jsonrpc: "2.0", id, result }, maxBytes);
    } catch (error) {
      return JSON.stringify({ jsonrpc: "2.0", id, result: toCallToolResult(notSendable(error)) });
    }
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return JSON.stringify({
      jsonrpc: "2.0",
      id,
      error: { code: error.code, message: error.message, data: error.data },
    });
  }
}

/** A result that cannot be encoded or is too large is a failure of the tool, as in the other transports. */
export function sendable(outcome: AgentOutcome, maxBytes: number): AgentOutcome {
  try {
    serializeReply(outcome, maxBytes);
    return outcome;
  } catch (error) {
    return notSendable(error);
  }
}

function notSendable(error: unknown): AgentOutcome {
  return { result: null, error: { error_type: "execution_error", message: serializationFailure(error) } };
}
