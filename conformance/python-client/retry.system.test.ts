import { expect, test } from "vitest";
import { defineEnvironment } from "../../packages/openenv/src/index.js";
import { serve } from "../../packages/openenv/src/serve.js";
import { counterContract } from "../../test-support/environments/counter.js";
import { fetchAsOperator, WITH_OPERATOR } from "../../test-support/operator.js";
import { startGateway } from "../../test-support/proxies/gateway.js";
import { requirePython } from "../../test-support/requirement.js";
import { runClients } from "./run-clients.js";

const python = await requirePython();

test.skipIf(!python.available)(
  "a wrapper with retries runs a cut step once below /retry, and twice below a plain address",
  async () => {
    let waiting: (() => void)[] = [];
    let isCut = false;
    const environment = defineEnvironment(counterContract, () => {
      let count = 0;
      return {
        reset: () => ({ observation: { count: (count = 0) } }),
        step: async ({ amount }) => {
          // The first slow step ends when its connection is lost and its client is back.
          if (amount === 50 && !isCut) await new Promise<void>((resolve) => waiting.push(resolve));
          return { observation: { count: (count += amount) } };
        },
      };
    });
    await using server = await serve(environment, { port: 0, logLevel: "silent", ...WITH_OPERATOR });
    await using gateway = await startGateway(server, "passes");
    const countResumed = async (): Promise<number> => {
      const text = await (await fetchAsOperator(`${server.url}/metrics`)).text();
      return Number(/^openenv_sessions_resumed_total\S* (\d+)$/m.exec(text)?.[1]);
    };
    const until = (condition: () => unknown): Promise<void> =>
      expect.poll(condition, { timeout: 20_000 }).toBe(true) as Promise<void>;
    const cut = async (): Promise<void> => {
      await until(() => waiting.length === 1);
      const before = await countResumed();
      gateway.cut();
      // The next frame of the client is here, and waits.
      await until(async () => (await countResumed()) > before);
      isCut = true;
      for (const go of waiting) go();
    };
    let cutting = Promise.resolve();
    const act = async (): Promise<null> => {
      [waiting, isCut] = [[], false];
      await cutting;
      cutting = cut();
      return null;
    };
    const address = (name: string): string => `${gateway.url}/session/${name}`;
    const urls = { retry: `${address("client-with-retries-1")}/retry`, plain: address("client-with-retries-2") };
    const results = await runClients({ python: python.path, script: "retry_client.py", urls }, act);
    await cutting;
    expect(Object.fromEntries(results)).toEqual({
      retry: { counts: [50, 100, 101], steps: 3 },
      plain: { counts: [100, 150, 151], steps: 4 },
    });
  },
  120_000,
);
