import { connect, connectVector } from "openenv-ts/client";
import { afterEach, expect, test } from "vitest";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { useServers } from "../../../test-support/servers/servers.js";
import { FAULTS, startFaultProxy } from "./proxy.mjs";

const servers = useServers();
const STEPS = 30;
const SESSIONS = 4;
const options = { resume: { pingIntervalMs: 100 }, connectTimeoutMs: 1000, check: false };

const opened = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function open(opening) {
  const one = await opening;
  opened.push(one);
  return one;
}

test.each(Object.keys(FAULTS))("a client with resume loses and repeats nothing: %s", async (kind) => {
  const counter = defineCounter();
  const server = await servers.start({ maxConcurrentEnvs: 1000 }, counter);
  // With a kind that opens no second connection, so that every kind meets some of these.
  const kinds = [...new Set([kind, "cut after an answer"])];
  const proxy = await open(startFaultProxy({ url: server.url, kinds, frames: 12 }));
  const env = await open(connect(proxy.url, { ...options, binary: true }));
  const envs = await open(connectVector(proxy.url, { ...options, size: SESSIONS }));
  await Promise.all([env.reset(), envs.reset()]);
  proxy.disturb();
  for (let i = 1; i <= STEPS; i++) {
    const amount = i % 10 === 0 ? 50 : i % 3;
    const actions = Array(SESSIONS).fill({ amount });
    const [one, many] = await Promise.all([env.tryStep({ amount }), envs.step(actions)]);
    expect([one, ...many].map(({ error, reward }) => error?.message ?? reward)).toEqual([
      amount,
      ...actions.map(() => amount),
    ]);
  }
  proxy.calm();
  const states = [await env.state(), ...(await envs.state())];
  expect(states.map((state) => state.step_count)).toEqual(states.map(() => STEPS));
  expect(counter.log.begun).toBe(((SESSIONS + 1) * STEPS) / 10);
  expect(proxy.counts[kind]).toBeGreaterThan(0);
});
