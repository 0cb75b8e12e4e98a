import { parseJson } from "../../protocol/json.js";
import { isObject } from "../../util/is-object.js";
import { answerRpc, renderRpc } from "../rpc.js";
import { readBody } from "./body.js";
import { sendText } from "./respond.js";
import type { Exchange, Route } from "./router.js";

/** JSON-RPC over POST; the status is always 200, and the content type of the request is not looked at. */
export const MCP_ROUTES: Record<string, Route> = { "/mcp": { POST: post } };

async function post({ request, response, context }: Exchange): Promise<void> {
  const { runtime, sessions, fleet } = context;
  const body = await readBody(request, { limit: context.maxMessageBytes, budget: context.bodies });
  const value = parseOrNull(body);
  const owner = fleet?.ownerOf(sessionOf(value));
  if (owner !== undefined) return fleet?.forward(owner, { request, response, body });
  const orchestrator = context.rights.isOrchestrator(request.headers);
  const whenGone = (giveUp: () => void): void => void response.once("close", giveUp);
  const answer = await answerRpc(value, { runtime, sessions, orchestrator, whenGone });
  sendText(response, 200, { type: "application/json", text: renderRpc(answer, runtime.maxAnswerBytes) });
}

/** The session that a request names; empty for none. */
function sessionOf(value: unknown): string {
  const params = isObject(value) ? value["params"] : undefined;
  const id = isObject(params) ? params["session_id"] : undefined;
  return typeof id === "string" ? id : "";
}

/** Null is no JSON object, and so is answered like what is no JSON at all. */
function parseOrNull(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}
