import { parseJson } from "../../protocol/json.js";
import { answerRpc } from "../rpc.js";
import { readBody } from "./body.js";
import { sendJson } from "./respond.js";
import type { Exchange, Route } from "./router.js";

/** JSON-RPC over POST; the status is always 200, and the content type of the request is not looked at. */
export const MCP_ROUTES: Record<string, Route> = { "/mcp": { POST: post } };

async function post({ request, response, context }: Exchange): Promise<void> {
  const { runtime, sessions } = context;
  const value = parseOrNull(await readBody(request, context.maxMessageBytes));
  sendJson(response, 200, await answerRpc(value, { runtime, sessions }), runtime.maxAnswerBytes);
}

/** Null is no JSON object, and so is answered like what is no JSON at all. */
function parseOrNull(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}
