/** Opens more sessions than the quota allows on two workers. Run it with `npx openenv run examples/plugin-quota/main.ts`. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type EnvClient } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import environment from "../dice.js";
import quota from "./quota.js";

process.env["OPENENV_QUOTA_SESSIONS"] = "3";
// The workers run this program, too, up to this call.
const server = await serve(environment, { port: 0, logLevel: "error", workers: 2, plugins: [quota] });
if (server.role === "supervisor") {
  const opened: EnvClient[] = [];
  for (let i = 0; i < 3; i++) opened.push(await open());
  await assert.rejects(open(), { code: "CAPACITY_REACHED", message: /anonymous has 3 sessions/ });
  await opened.pop()?.close();
  // The worker sees the end of the connection a moment later.
  const deadline = Date.now() + 20_000;
  let another: EnvClient | undefined;
  while (another === undefined && Date.now() < deadline) {
    another = await open().catch(() => undefined);
    if (another === undefined) await sleep(20);
  }
  assert.ok(another);
  for (const env of [...opened, another]) await env.close();
  await server.close();
  console.log("three sessions at once, on two workers");
}

async function open(): Promise<EnvClient> {
  const env = await connect(server.url);
  await env.reset();
  return env;
}
