import { expect, test, vi } from "vitest";
import * as z from "zod";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../../test-support/operator.js";

// A separate copy of the server: a scrape starts the clock of the process, and other tests scrape.
vi.resetModules();
const { useServers } = await import("../../../../../test-support/servers/servers.js");
const { defineContract, defineEnvironment } = await import("../../index.js");
const { start, open } = useServers();
const STEP_MS = 30;

const contract = defineContract({
  name: "busy_env",
  action: z.object({}),
  observation: z.object({}),
});
const environment = defineEnvironment(contract, () => ({
  reset: () => ({ observation: {} }),
  step: () => {
    const end = performance.now() + STEP_MS;
    while (performance.now() < end);
    return { observation: {} };
  },
}));

test("the wait of a step has the time in the kernel from the first scrape on", async () => {
  const server = await start(WITH_OPERATOR, { environment });
  const waits = async () => {
    const text = await (await fetchAsOperator(`${server.url}/metrics`)).text();
    const read = (what: string) =>
      Number(new RegExp(`^openenv_step_wait_seconds_${what}\\{.*\\} (\\S+)$`, "m").exec(text)?.[1]);
    return { count: read("count"), sum: read("sum") };
  };
  const sockets = await Promise.all(Array.from({ length: 10 }, () => open(server)));
  for (const socket of sockets) await socket.ask({ type: "reset" });
  // Ten steps at once: the last waits for nine, and all of them for 45 together.
  const burst = () => Promise.all(sockets.map((socket) => socket.ask({ type: "step", data: {} })));
  await burst();
  const before = await waits();
  expect(before.count).toBe(10);
  await burst();
  const after = await waits();
  expect(after.count).toBe(20);
  expect(after.sum - before.sum).toBeGreaterThan((20 * STEP_MS) / 1000);
  expect(before.sum).toBeLessThan((after.sum - before.sum) / 4);
});
