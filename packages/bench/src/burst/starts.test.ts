import { expect, test } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment } from "../../../openenv/src/index.js";
import { serve } from "../../../openenv/src/server/index.js";
import { runBurst } from "./generator/burst.js";
import { summarise } from "./results/summary.js";

const REQUESTS = 64;
const LATE_MS = 250;

const contract = defineContract({
  name: "stepped_env",
  action: z.object({}),
  observation: z.object({ session_hash: z.string() }),
});

test("a request is counted from the start of the burst, however late the client starts it", async () => {
  const stepped = new Map<string, number>();
  const environment = defineEnvironment(contract, () => {
    const session_hash = `session ${Math.random()}`;
    return {
      reset: () => ({ observation: { session_hash } }),
      step: () => {
        stepped.set(session_hash, performance.timeOrigin + performance.now());
        return { observation: { session_hash } };
      },
    };
  });
  await using server = await serve(environment, { port: 0, logLevel: "silent", maxConcurrentEnvs: REQUESTS });
  let started = 0;
  const source = (): undefined => {
    // What a client does that has other work, or too little processor time, before its last request.
    if (++started === REQUESTS) for (const until = performance.now() + LATE_MS; performance.now() < until; );
  };
  const job = { url: server.url, address: "127.0.0.1", mode: "ws" as const, action: {}, timeoutMs: 20_000 };
  const result = await runBurst({ ...job, requests: REQUESTS }, { source, signal: new AbortController().signal });

  expect(stepped.size).toBe(REQUESTS);
  for (const { session_hash, total_ms, start_ms, connect_ms, reset_ms, step_ms } of result.rows) {
    // The environment saw the step before the client had the answer, whoever holds the watch.
    expect(total_ms).toBeGreaterThan((stepped.get(session_hash ?? "") ?? Number.NaN) - result.began - 0.01);
    expect(start_ms + (connect_ms ?? 0) + (reset_ms ?? 0) + (step_ms ?? 0)).toBeCloseTo(total_ms, 1);
  }
  const subject = { url: server.url, mode: "ws" as const, hardware: "", cores: null };
  const row = summarise(subject, { requests: REQUESTS, wait_seconds: 0, rep: 1 }, [result]);
  expect(row.start_spread_ms).toBeGreaterThanOrEqual(LATE_MS);
  expect(row).toMatchObject({ succeeded: REQUESTS, client_limited: true });
});
