import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const HEALTHY_WITHIN_MS = 60_000;

/** A port of the loopback address that nobody has at this moment. */
export async function findFreePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Resolves when GET /health at the port is answered with 200. */
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
