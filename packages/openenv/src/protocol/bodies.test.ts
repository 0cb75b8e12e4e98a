import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment } from "../index.js";
import { serve } from "../serve.js";
import type { RunningServer } from "../server/types.js";
import * as bodies from "./bodies.js";

const contract = defineContract({
  name: "counter_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
  tools: { look: { description: "Looks", input: z.object({ at: z.string() }), output: z.string() } },
});
const environment = defineEnvironment(
  contract,
  () => ({
    reset: () => ({ observation: { count: 0 } }),
    step: ({ amount }) => ({ observation: { count: amount }, reward: 1 }),
    tools: { look: ({ at }) => at },
  }),
  {
    tasks: { splits: () => ["train"], list: () => [{ n: 1 }], count: () => 1, get: () => ({ n: 1 }), range: () => [] },
  },
);

let server: RunningServer;
let session: string;
beforeAll(async () => {
  server = await serve(environment, { port: 0, logLevel: "silent", operatorToken: "operates" });
  const { headers } = await fetch(`${server.url}/reset`, { method: "POST" });
  session = headers.get("openenv-session") as string;
});
afterAll(() => server.close());

const split = { split: "train" };
test.each<[string, z.ZodType, object?]>([
  ["GET /health", bodies.healthBody],
  ["GET /livez", bodies.livenessBody],
  ["GET /readyz", bodies.readinessBody],
  ["GET /metadata", bodies.metadataBody],
  ["GET /schema", bodies.schemaBody],
  ["GET /sessions", bodies.sessionsBody],
  ["POST /reset", bodies.resetBody],
  ["POST /step", bodies.stepBody, { action: { amount: 1 } }],
  ["GET /list_environments", bodies.environmentsBody],
  ["GET /counter_env/splits", bodies.splitsBody],
  ["POST /counter_env/tasks", bodies.tasksBody, split],
  ["POST /counter_env/num_tasks", bodies.taskCountBody, split],
  ["POST /counter_env/task", bodies.taskBody, { ...split, index: 0 }],
  ["POST /counter_env/task_range", bodies.taskRangeBody, split],
  ["POST /sessions/pause", bodies.pausedBody],
  ["POST /sessions/resume", bodies.pausedBody],
  ["DELETE /sessions/{session_id}", bodies.sessionEndedBody],
])("%s answers what its schema says, and nothing else", async (route, schema, body) => {
  const [method = "", path = ""] = route.replace("{session_id}", session).split(" ");
  const headers = { authorization: "Bearer operates", "content-type": "application/json" };
  const response = await fetch(server.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const answer: unknown = await response.json();
  expect(response.status).toBe(200);
  expect(schema.parse(answer)).toEqual(answer);
});

test("a request body with several errors lists them in the order of its fields", async () => {
  const response = await fetch(`${server.url}/step`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ request_id: 1, timeout_s: 0 }),
  });
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({
    detail: [
      { type: "missing", loc: ["body", "action"] },
      { type: "greater_than", loc: ["body", "timeout_s"], ctx: { gt: 0 } },
      { type: "string_type", loc: ["body", "request_id"] },
    ],
  });
});
