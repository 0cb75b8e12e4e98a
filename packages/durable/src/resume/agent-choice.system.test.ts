/** What agents do in a session outlives the process, also when it was the last thing before a kill. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connect } from "#core/connect.js";
import { createProject } from "../../../../test-support/commands/command-line.js";
import { useMcp } from "../../../../test-support/environments/mcp.js";
import { findFreePort } from "../../../../test-support/free-port.js";
import { serveProject } from "../../../../test-support/servers/killable.js";

const { open } = useMcp();
const SNAPSHOTS = "snapshot: () => count, restore: (saved) => void (count = saved),";
const environment = (members: string, options: string): string => `
import { defineContract, defineEnvironment } from "openenv-ts";
import { existsSync, writeFileSync } from "node:fs";
import * as z from "zod";
const contract = defineContract({ name: "tally_env", action: z.object({ amount: z.int() }), observation: z.object({ count: z.int() }) });
export default defineEnvironment(contract, () => {
  let count = 0;
  return {
    reset: () => ({ observation: { count: (count = 0) } }),
    async step({ amount }) {
      if (amount >= 100) {
        writeFileSync("begun", "");
        if (amount === 100) await new Promise((resolve) => setTimeout(resolve, 500));
        // A step of 101 still runs when the server is killed.
        while (amount === 101 && !existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return { observation: { count: (count += amount) }, reward: amount };
    },
    ${members}
  };
}, ${options});
`;

const TIERS = { snapshot: environment(SNAPSHOTS, "{}"), replay: environment("", "{ seeded: true }") };

test.each([
  ["before its first event", "replay", 0],
  ["after its last event", "snapshot", 1],
  ["after its last event", "replay", 1],
] as const)("a session that was opened to an agent %s, and is restored by %s", { timeout: 90_000 }, async (...row) => {
  const [, tier, resets] = row;
  await using project = await createProject({ "environment.mjs": TIERS[tier] });
  const port = await findFreePort();
  const serve = () => serveProject(project, port, { JOURNAL: "sessions.db" });
  await using first = await serve();
  await using env = await connect(first.url, { resume: true, timeoutMs: 60_000 });
  for (let reset = 0; reset < resets; reset++) await env.reset();
  const access = await env.openToAgent();
  await first.signal("SIGKILL");
  await using _second = await serve();
  // The client continues its session first.
  expect(await access.episode()).toMatchObject({ step_count: 0 });
  if (resets === 0) await env.reset();
  const { client } = await open(first, { headers: { ...access.headers } });
  expect(await client.callTool({ name: "step", arguments: { amount: 3 } })).toMatchObject({
    structuredContent: { count: 3 },
  });
  expect(await access.episode()).toMatchObject({ step_count: 1, reward: 3 });
});

test("a session by address that was created for an agent", { timeout: 90_000 }, async () => {
  await using project = await createProject({ "environment.mjs": TIERS.snapshot });
  const port = await findFreePort();
  const serve = () => serveProject(project, port, { JOURNAL: "sessions.db" });
  await using first = await serve();
  const ask = async (path: string, body: object): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    const url = `${first.url}/session/rollout_of_an_agent_1/${path}`;
    return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).json();
  };
  const rpc = (method: string, params: object) => ask("mcp", { jsonrpc: "2.0", id: 1, method, params });
  const created = await rpc("openenv/session/create", { tool_calls_are_steps: true });
  expect(created).toMatchObject({ result: { tool_calls_are_steps: true } });
  await first.signal("SIGKILL");
  await using _second = await serve();
  await ask("reset", {});
  expect(await rpc("tools/call", { name: "step", arguments: { amount: 3 } })).toMatchObject({
    result: { structured_content: { count: 3 } },
  });
  expect(await rpc("openenv/session/episode", {})).toMatchObject({ result: { step_count: 1, reward: 3 } });
});

test("the step of an agent whose answer came before a kill, with a step of the client behind it", {
  timeout: 90_000,
}, async () => {
  await using project = await createProject({ "environment.mjs": TIERS.snapshot });
  const port = await findFreePort();
  const serve = () => serveProject(project, port, { JOURNAL: "sessions.db" });
  await using first = await serve();
  await using env = await connect(first.url, { resume: true, timeoutMs: 60_000 });
  await env.reset();
  const access = await env.openToAgent();
  const { client } = await open(first, { headers: { ...access.headers } });
  const ofAgent = client.callTool({ name: "step", arguments: { amount: 100 } });
  await expect.poll(() => existsSync(join(project.dir, "begun")), { timeout: 10_000 }).toBe(true);
  const behind = env.step({ amount: 101 });
  expect(await ofAgent).toMatchObject({ structuredContent: { count: 100 } });
  await first.signal("SIGKILL");
  await project.write("go", "");
  await using _second = await serve();
  expect(await behind).toMatchObject({ observation: { count: 201 }, recovered: true });
  expect(await access.episode()).toMatchObject({ step_count: 2, reward: 201 });
});
