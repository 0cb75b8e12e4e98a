import * as z from "zod";
import type { HostRoute } from "../host.js";
import { call, createRequest, createSessionRequest } from "./bodies.js";

const ended = z.object({ sid: z.string() });
const tools = z.object({
  tools: z.array(z.object({ name: z.string(), description: z.string(), input_schema: z.looseObject({}) })),
  terminal_tool: z.null(),
  supports_score_group: z.literal(false),
  message_block_types: z.array(z.string()),
});
const prompt = z.array(
  z.union([
    z.object({ type: z.literal("text"), text: z.string() }),
    z.object({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
  ]),
);
const version = z.object({ version: z.string(), build_sha: z.null() });

/** The routes that only ORS has, for `/openapi.json`; those that refuse every request are left out. */
export const ORS_ROUTES: readonly HostRoute[] = [
  route("get", "/version", "The version of the server", { answer: version }),
  route("post", "/create_session", "Make the id of a session, in the event `task_id`", { body: createSessionRequest }),
  ofSession("post", "/create", "Open the session and begin its reset", { body: createRequest, answer: ended }),
  ofSession("post", "/ping", "Keep the session open", { answer: z.object({ status: z.literal("ok") }) }),
  ofSession("post", "/delete", "End the session", { answer: ended }),
  ofSession("post", "/delete_session", "End the session", { answer: ended }),
  route("get", "/{env_name}/tools", "The tools of the environment", { answer: tools }),
  ofSession("get", "/{env_name}/task_tools", "The tools of the session", { answer: tools }),
  ofSession("get", "/{env_name}/prompt", "What the agent reads first", { answer: prompt }),
  ofSession("post", "/{env_name}/call", "Call a tool: a step; the result is in the event `end`", { body: call }),
];

type Bodies = Pick<HostRoute, "body" | "answer">;

function route(method: "get" | "post", path: string, summary: string, bodies: Bodies): HostRoute {
  return { method, path, summary, ofSession: false, ...bodies };
}

function ofSession(...given: Parameters<typeof route>): HostRoute {
  return { ...route(...given), ofSession: true };
}
