import { afterEach } from "vitest";
import type { Contract } from "../../packages/openenv/src/contract/contract.js";
import type { EnvironmentDefinition } from "../../packages/openenv/src/environment/environment.js";
import type { ServerView } from "../../packages/openenv/src/protocol/web.js";
import { serve } from "../../packages/openenv/src/serve.js";
import type { RunningServer, ServeOptions } from "../../packages/openenv/src/server/types.js";
import { type counterContract, defineCounter } from "../environments/counter.js";
import { fetchAsOperator } from "../operator.js";
import { openTestSocket, type TestSocket } from "../sockets/socket.js";

interface Served<C extends Contract> {
  environment: EnvironmentDefinition<C>;
}

/** Starts servers and sockets for one test after the other; what a test started ends with it. */
export function useServers() {
  const cleanup: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of cleanup.splice(0).reverse()) await end();
  });
  return {
    async start<C extends Contract = typeof counterContract>(
      options: ServeOptions = {},
      served: Served<C> = defineCounter() as unknown as Served<C>,
    ): Promise<RunningServer> {
      const environment = served.environment as unknown as EnvironmentDefinition;
      const server = await serve(environment, { port: 0, logLevel: "silent", graceMs: 200, ...options });
      cleanup.push(() => server.close());
      return server;
    },
    async open(server: RunningServer, path = "/ws", headers: Record<string, string> = {}): Promise<TestSocket> {
      const socket = await openTestSocket(server.url + path, { headers });
      cleanup.push(async () => socket[Symbol.asyncDispose]());
      return socket;
    },
  };
}

/** Polls; fails after 20 seconds. */
export async function waitFor(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error("the condition did not come true in 20 s");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** How many wait for a session of a server that was started with `WITH_OPERATOR`. */
export async function countWaiting(url: string): Promise<number> {
  const response = await fetchAsOperator(`${url}/web/server`);
  return ((await response.json()) as ServerView).waiting;
}
