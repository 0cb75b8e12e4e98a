import { ConfigError, ConnectionError } from "../errors.js";
import { SESSION_HEADER } from "../protocol/http.js";
import type { JsonObject } from "../protocol/messages.js";
import type { EpisodeBody } from "../protocol/published.js";
import { isObject } from "../util/is-object.js";
import type { CallOptions } from "./options.js";
import { toRemoteError, toRpcAnswer } from "./tools/mcp-production.js";
import type { ClientSession } from "./transport/session.js";

/** What an agent needs to join a session over MCP, where its tool calls are steps, and what it earns. */
export interface AgentAccess {
  /** The address of the MCP server. */
  readonly url: string;
  /** The headers with which the agent connects. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The episode so far: `reward` is the sum. Mask it if there are `failed_steps`.
   * @throws RemoteError or ConnectionError as other calls.
   */
  episode(call?: CallOptions): Promise<EpisodeBody>;
}

export async function openToAgent(url: string, session: ClientSession): Promise<AgentAccess> {
  if (!url.startsWith("http")) throw new ConfigError("An agent can only join a session of a server: connect to a URL.");
  const ask = async (method: string, params: JsonObject, call: CallOptions = {}): Promise<JsonObject> => {
    const data = { jsonrpc: "2.0", method: `openenv/session/${method}`, params, id: 1 };
    const answer = toRpcAnswer((await session.call({ type: "mcp", data }, call)).data);
    if ("failure" in answer) throw toRemoteError(answer.failure);
    return isObject(answer.result) ? answer.result : {};
  };
  const { session_id: id, tool_calls_are_steps: chosen } = await ask("create", { tool_calls_are_steps: true });
  // A server that does not know the parameter ignores it.
  if (typeof id !== "string" || chosen !== true) {
    throw new ConnectionError("PROTOCOL_ERROR", "The server cannot make the tool calls of an agent steps.");
  }
  return {
    url: `${url}/mcp`,
    headers: { [SESSION_HEADER]: id },
    episode: async (call) => (await ask("episode", {}, call)) as unknown as EpisodeBody,
  };
}
