import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment, defineTools } from "../../packages/openenv/src/index.js";
import { serve } from "../../packages/openenv/src/serve.js";
import type { RunningServer } from "../../packages/openenv/src/server/types.js";
import { AS_OPERATOR, fetchAsOperator, WITH_OPERATOR } from "../../test-support/operator.js";
import { startGateway } from "../../test-support/proxies/gateway.js";
import { requirePython } from "../../test-support/requirement.js";
import { until } from "../../test-support/servers/cluster.js";
import { type Results, runClients } from "./run-clients.js";

const python = await requirePython();
const KINDS = ["typed", "typed-sync", "generic", "generic-sync", "tools", "tools-sync"];

const contract = defineContract({
  name: "count_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
  tools: defineTools({ tally: { description: "Returns the count.", output: z.int() } }),
});

/** A counter whose step of 50 ends when the test says so. */
function defineCount() {
  const waiting: (() => void)[] = [];
  const environment = defineEnvironment(
    contract,
    () => {
      let count = 0;
      return {
        reset: () => ({ observation: { count: (count = 0) } }),
        step: async ({ amount }) => {
          if (amount === 50) await new Promise<void>((resolve) => waiting.push(resolve));
          return { observation: { count: (count += amount) } };
        },
        tools: { tally: () => count },
      };
    },
    // Without it, a step after a loss would begin an episode that nobody noticed.
    { stepBeforeReset: "allow" },
  );
  return { environment, waiting };
}

async function playAll(): Promise<Results> {
  const { environment, waiting } = defineCount();
  await using server = await serve(environment, { port: 0, logLevel: "silent", ...WITH_OPERATOR });
  await using gateway = await startGateway(server, "passes");
  const cutDuringStep = async (): Promise<void> => {
    await until(() => waiting.length === 1);
    const before = await countResumed(server);
    gateway.cut();
    // The next frame of the client is here, and waits.
    await until(async () => (await countResumed(server)) > before);
    waiting.shift()?.();
  };
  let during = Promise.resolve();
  const act = async (thing: string): Promise<unknown> => {
    if (thing === "cut") gateway.cut();
    else if (thing === "cut at the next answer") gateway.cutAtAnswer();
    else if (thing === "leave the server half-open") gateway.strand();
    else if (thing === "cut during the slow step") during = cutDuringStep();
    else if (thing === "end the session") await endAll(server);
    else if (thing === "count the sessions") {
      await during;
      return server.capacity().active_sessions;
    }
    return null;
  };
  const urls = Object.fromEntries(KINDS.map((kind) => [kind, `${gateway.url}/session/name-of-the-client-${kind}`]));
  return await runClients({ python: python.path, script: "address_client.py", urls }, act);
}

async function countResumed({ url }: RunningServer): Promise<number> {
  const text = await (await fetchAsOperator(`${url}/metrics`)).text();
  return Number(/^openenv_sessions_resumed_total\S* (\d+)$/m.exec(text)?.[1]);
}

async function endAll(server: RunningServer): Promise<void> {
  for (const { session_id } of await server.sessions()) {
    await fetch(`${server.url}/sessions/${session_id}`, { method: "DELETE", headers: AS_OPERATOR });
  }
}

describe.skipIf(!python.available)("the released Python clients by address", () => {
  let results: Results;
  beforeAll(async () => {
    results = await playAll();
  }, 240_000);

  test.each(KINDS)("%s: continues its episode after every broken connection", (kind) => {
    const raised = { raised: expect.any(String) };
    expect(results.get(kind)).toMatchObject({
      reset: 0,
      step: 1,
      "step after a cut": 3,
      "step whose answer is cut": raised,
      state: { step_count: 3 },
      "repeated step": 6,
      "step after a lost answer": 10,
      "step after a half-open connection": 15,
      "slow step": raised,
      "step after a cut step": 71,
    });
  });

  test.each(KINDS)("%s: a second client with its name is refused", (kind) => {
    expect(results.get(kind)).toMatchObject({
      "second client": { raised: expect.stringContaining("SESSION_IN_USE") },
      "step of the first client": 78,
    });
  });

  test.each(KINDS)("%s: must reset after its session was lost, and its close ends the session", (kind) => {
    expect(results.get(kind)).toMatchObject({
      "step of a lost session": { raised: expect.stringMatching(/NO_EPISODE|SESSION_ERROR/) },
      sessions: 0,
    });
  });

  test.each(KINDS.slice(0, 4))("%s: continues after the reset", (kind) => {
    expect(results.get(kind)).toMatchObject({ "reset after a loss": 0, "step after a reset": 9 });
  });

  test.each(["tools", "tools-sync"])("%s: calls the tools of its session", (kind) => {
    expect(results.get(kind)).toMatchObject({ tools: ["tally"], tool: 78 });
  });
});
