import { setTimeout as sleep } from "node:timers/promises";

const HEALTHY_WITHIN_MS = 60_000;

/** Resolves when GET /health at the port returns 200. */
export async function waitUntilHealthy(port) {
  const deadline = Date.now() + HEALTHY_WITHIN_MS;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    await answer?.text();
    if (answer?.status === 200) return;
    if (Date.now() > deadline) throw new Error(`nothing healthy at port ${port} within ${HEALTHY_WITHIN_MS / 1000} s`);
    await sleep(100);
  }
}
