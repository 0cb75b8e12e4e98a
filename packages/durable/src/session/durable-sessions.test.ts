import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { RESUME_DEFAULTS } from "#core/session/registry/session-keeper.js";
import { Sessions } from "#core/session/registry/sessions.js";
import { createRuntime } from "#core/session/runtime.js";
import { defineCounter } from "../../../../test-support/environments/counter.js";
import { createKeeper } from "../index.js";
import type { Keeper } from "../resume/keeper.js";

const MINUTE = 60_000;
const TOKEN_HASH = createHash("sha256").update("token").digest("hex");
const holder = { fence() {}, moved() {}, drop() {}, isAlive: async () => true };

/** A session whose connection is lost during a step, by default one that never ends. */
async function detachInStep({ amount = 60, stepTimeoutMs }: { amount?: number; stepTimeoutMs?: number | undefined }) {
  const { environment } = defineCounter();
  const resume = { ...RESUME_DEFAULTS, stepTimeoutMs };
  const runtime = createRuntime(environment);
  const limits = { maxConcurrentEnvs: 1, sessionTimeoutMs: 15 * MINUTE, resume };
  const sessions = new Sessions(runtime, limits, createKeeper);
  const keeper = sessions.keeper as Keeper;
  const session = await sessions.open();
  await session.call({ type: "reset" });
  const durableSession = keeper.add(session, TOKEN_HASH, holder);
  const step = session.call({ type: "step", data: { amount } });
  keeper.detach(durableSession);
  return { sessions, session, step, durableSession };
}

test.each([
  ["twice the window, without a time limit of steps", undefined, 30],
  ["the window and the time limit of a step", 60 * MINUTE, 75],
])("a step that never ends holds its session for %s", async (_what, stepTimeoutMs, minutes) => {
  const { sessions, session, step } = await detachInStep({ stepTimeoutMs });
  sessions.endOverdue(performance.now() + (minutes - 1) * MINUTE);
  expect(session.ended).toBe(false);
  sessions.endOverdue(performance.now() + minutes * MINUTE);
  expect(session.ended).toBe(true);
  await step;
  expect(sessions.capacity().active_sessions).toBe(0);
});

test("a step that ended late leaves its client the whole window", async () => {
  const { sessions, session, step, durableSession } = await detachInStep({ amount: 50 });
  await step;
  durableSession.detachedAt -= 40 * MINUTE;
  sessions.endOverdue(performance.now() + 14 * MINUTE);
  expect(session.ended).toBe(false);
  sessions.endOverdue(performance.now() + 15 * MINUTE);
  expect(session.ended).toBe(true);
});
