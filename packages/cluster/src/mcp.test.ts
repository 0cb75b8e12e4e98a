import { expect, test } from "vitest";
import { createProject, startCommand } from "../../../test-support/commands/command-line.js";
import { INITIALIZE, openAndCutStream, rpc, send, useMcp } from "../../../test-support/environments/mcp.js";
import { OPERATOR_VARIABLES } from "../../../test-support/operator.js";
import { until, untilAllKnow } from "../../../test-support/servers/cluster.js";

const { open } = useMcp();

const DESK = `
import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const desk = defineContract({
  name: "desk_env",
  tools: {
    tally: { description: "Counts.", output: z.object({ pid: z.int(), count: z.int() }) },
    later: { description: "Answers later.", output: z.int() },
  },
});
export default defineEnvironment(desk, () => {
  let count = 0;
  return {
    reset: () => ({ observation: {} }),
    tools: {
      tally: () => ({ pid: process.pid, count: ++count }),
      later: () => new Promise((resolve) => setTimeout(resolve, 50, 42)),
    },
  };
});
`;

test("a request of an MCP session goes to its worker, and a new one to a worker with room", {
  timeout: 120_000,
}, async () => {
  await using project = await createProject({ "environment.mjs": DESK });
  const env = { WORKERS: "2", MAX_CONCURRENT_ENVS: "2", ...OPERATOR_VARIABLES };
  await using command = startCommand(["serve", "environment.mjs", "--port", "0"], { cwd: project.dir, env });
  const [, url = ""] = await command.printed(/at (http:\S+)/);
  // Each request uses a new connection, which any worker may accept.
  const headers = { connection: "close" };
  const opened: Awaited<ReturnType<typeof open>>[] = [];
  // The workers' view of one another is some milliseconds old.
  const openAnother = () =>
    open({ url }, { headers }).then(
      (client) => opened.push(client),
      () => 0,
    );
  await until(async () => (await openAnother()) === 4);
  await untilAllKnow(url, { active_sessions: 4 });
  await expect(open({ url }, { headers })).rejects.toMatchObject({
    data: { code: "CAPACITY_REACHED", active_sessions: 4, max_sessions: 4 },
  });
  const pids = new Set<unknown>();
  for (const { client, transport } of opened) {
    expect(transport.sessionId).toMatch(/^w\d-/);
    for (let count = 1; count <= 4; count++) {
      const { structuredContent } = await client.callTool({ name: "tally" });
      expect(structuredContent).toMatchObject({ count });
      pids.add((structuredContent as { pid: number }).pid);
    }
  }
  expect(pids.size).toBe(2);

  const session = { "mcp-session-id": opened[0]?.transport.sessionId ?? "" };
  await opened[0]?.client.close();
  for (let i = 0; i < 6; i++) await openAndCutStream(url, { ...headers, ...session });
  const ended = await fetch(`${url}/mcp`, { method: "DELETE", headers: { ...headers, ...session } });
  expect(ended.status).toBe(200);
  for (let i = 0; i < 3; i++) {
    const late = await fetch(`${url}/mcp`, { headers: { ...headers, ...session, accept: "text/event-stream" } });
    expect(late.status).toBe(404);
  }
  await until(async () => (await openAnother()) === 5);
});

test("a client whose session was lost with its server starts a new one, and streams reach it from any worker", {
  timeout: 120_000,
}, async () => {
  await using project = await createProject({ "environment.mjs": DESK });
  const env = { WORKERS: "2", MAX_CONCURRENT_ENVS: "8" };
  await using command = startCommand(["serve", "environment.mjs", "--port", "0"], { cwd: project.dir, env });
  const [, url = ""] = await command.printed(/at (http:\S+)/);
  const params = { name: "later", arguments: {}, _meta: { progressToken: 1 } };
  for (let nth = 0; nth < 8; nth++) {
    const stale = `w${(nth % 4) + 1}-0b0c9f8e-5c1d-4a8e-9a43-0f3e0f6f7d11`;
    const begun = await send(url, INITIALIZE, { connection: "close", accept: "*/*", "mcp-session-id": stale });
    expect(begun.status).toBe(200);
    const session = { connection: "close", "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    expect(session["mcp-session-id"]).not.toBe(stale);
    const called = await send(url, { ...rpc, method: "tools/call", params }, session);
    expect(called.headers.get("content-type")).toBe("text/event-stream");
    expect(await called.text()).toContain('"structuredContent":{"result":42}');
  }
});
