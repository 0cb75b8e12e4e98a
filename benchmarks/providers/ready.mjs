import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "openenv-ts/client";

/** Resolves once a reset is answered at this URL. */
export async function answersReset(url) {
  for (;;) {
    try {
      const env = await connect(url, { check: false });
      await env.reset();
      return await env.close();
    } catch (error) {
      if (!["CONNECTION_FAILED", "SESSION_LOST"].includes(error.code)) throw error;
      await sleep(10);
    }
  }
}

/** Milliseconds that `start` takes; what it returns is closed afterwards. */
export async function timeStart(start) {
  const began = performance.now();
  const started = await start();
  const milliseconds = performance.now() - began;
  await started.close();
  return milliseconds;
}
