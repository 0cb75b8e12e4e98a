import { ConnectionError, RemoteError } from "../../errors.js";
import { RPC_ERRORS } from "../../protocol/jsonrpc.js";
import type { JsonObject } from "../../protocol/messages.js";
import type { Transport } from "../../protocol/transport.js";
import { isObject } from "../../util/is-object.js";
import { lostBecause } from "../failures.js";
import type { CallOptions } from "../options.js";
import type { HttpClient } from "../transport/http.js";
import { type ToolInfo, toErrorType, toToolCallResult, toToolInfos } from "./mcp-result.js";
import type { CallTool } from "./tool-methods.js";

/** The error of a JSON-RPC response. */
interface RpcFailure {
  code: number;
  message: string;
  data: JsonObject;
}

type RpcAnswer = { result: unknown } | { failure: RpcFailure };
/** Calls a JSON-RPC method. */
export type AskRpc = (method: string, params: JsonObject, call: CallOptions) => Promise<RpcAnswer>;

/** Reads a JSON-RPC response. @throws ConnectionError PROTOCOL_ERROR when it is not one. */
export function toRpcAnswer(response: unknown): RpcAnswer {
  if (!isObject(response))
    throw new ConnectionError("PROTOCOL_ERROR", "The server's answer is not a JSON-RPC response.");
  const { error, result } = response;
  if (!isObject(error)) return { result };
  const { code, message, data } = error;
  return { failure: { code: Number(code), message: String(message), data: isObject(data) ? data : {} } };
}

/** JSON-RPC over `POST /mcp`, with a session that was created there. */
export class JsonRpcClient {
  readonly #http: HttpClient;
  #sessionId: string | undefined;
  #lastId = 0;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Creates a session and a transport to it, and closes the previous session. */
  async attach(transport: (sessionId: string) => Promise<Transport>): Promise<Transport> {
    await this.close();
    const answer = await this.ask("openenv/session/create", {}, {});
    if ("failure" in answer) throw toRemoteError(answer.failure);
    const id = isObject(answer.result) ? answer.result["session_id"] : undefined;
    if (typeof id !== "string") throw new ConnectionError("PROTOCOL_ERROR", "The server's answer has no session_id.");
    this.#sessionId = id;
    return transport(id);
  }

  async ask(method: string, params: JsonObject, call: CallOptions): Promise<RpcAnswer> {
    const session = this.#sessionId === undefined ? {} : { session_id: this.#sessionId };
    const request = { jsonrpc: "2.0", method, params: { ...params, ...session }, id: ++this.#lastId };
    return toRpcAnswer(await this.#http.post("/mcp", request, call));
  }

  /** Ends the session, if there is one. Ignores errors of a server that is gone: it has ended the session. */
  async close(): Promise<void> {
    if (this.#sessionId === undefined) return;
    await this.ask("openenv/session/close", {}, {}).catch(() => {});
    this.#sessionId = undefined;
  }
}

export async function listInProduction(ask: AskRpc, call: CallOptions): Promise<ToolInfo[]> {
  const answer = await ask("tools/list", {}, call);
  if ("failure" in answer) throw toRemoteError(answer.failure);
  return toToolInfos(isObject(answer.result) ? answer.result["tools"] : undefined);
}

/** The Python package does not report the type of a failure: it counts as an execution error. */
export function callInProduction(ask: AskRpc): CallTool {
  return async (name, given, call) => {
    const answer = await ask("tools/call", { name, arguments: given }, call);
    if ("result" in answer) return toToolCallResult(name, { result: answer.result, error: null });
    const { code, message, data } = answer.failure;
    if (data["code"] === "SESSION_LOST") throw lostBecause(message.replace(/\.$/, ""));
    if (code !== RPC_ERRORS.internal || data["code"] === "CANCELLED") throw toRemoteError(answer.failure);
    return toToolCallResult(name, { result: null, error: { error_type: toErrorType(data["error_type"]), message } });
  };
}

export function toRemoteError({ code, message, data }: RpcFailure): RemoteError {
  const known =
    "active_sessions" in data ? "CAPACITY_REACHED" : "factory_name" in data ? "FACTORY_ERROR" : "REQUEST_FAILED";
  const wireCode = typeof data["code"] === "string" ? data["code"] : known;
  return new RemoteError(wireCode, message, { ...data, rpc_code: code });
}
