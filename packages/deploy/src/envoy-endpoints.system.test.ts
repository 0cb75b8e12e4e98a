import { expect, test } from "vitest";
import { startBalancer } from "../../../test-support/deploy/balancers.js";
import { requireEnvoy } from "../../../test-support/requirement.js";
import { useServers } from "../../../test-support/servers/servers.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import type { RunningServer } from "../../openenv/src/server/types.js";
import { renderEndpoints } from "./balancers/envoy.js";

const envoy = await requireEnvoy();
const { start } = useServers();
const RESET = { type: "reset", data: {} };
const STEP = { type: "step", data: { amount: 1 } };

test.skipIf(!envoy.available)(
  "Envoy uses a server that its file of endpoints gets, leaves one that it loses, and keeps the sockets of both",
  { timeout: 90_000 },
  async () => {
    const [one, two] = [await start(), await start()];
    const file = (...servers: RunningServer[]): string =>
      renderEndpoints(servers.map(({ port }) => ({ host: "127.0.0.1", port })));
    await using balancer = await startBalancer("envoy", envoy.path, { backends: [`127.0.0.1:${one.port}`] });
    const join = async () => {
      const socket = await openTestSocket(`${balancer.url}/ws`);
      await socket.ask(RESET);
      return socket;
    };
    /** Opens eight sessions, and returns how many of them the server got. */
    const countNewAt = async (server: RunningServer): Promise<number> => {
      const before = active(server);
      for (let count = 0; count < 8; count++) await join();
      return active(server) - before;
    };
    const first = await join();
    expect([active(one), active(two)]).toEqual([1, 0]);

    await balancer.replaceEndpoints(file(one, two));
    await expect.poll(() => countNewAt(two), { timeout: 20_000 }).toBeGreaterThan(0);
    expect(await first.ask(STEP)).toMatchObject({ data: { observation: { count: 1 } } });

    await balancer.replaceEndpoints("resources: [");
    await expect.poll(() => balancer.output(), { timeout: 20_000 }).toMatch(/update failure: in \.\/endpoints\.yaml/);
    await countNewAt(two);

    await balancer.replaceEndpoints(file(two));
    await expect.poll(() => countNewAt(one), { timeout: 20_000 }).toBe(0);
    expect(await first.ask(STEP)).toMatchObject({ data: { observation: { count: 2 } } });
  },
);

function active(server: RunningServer): number {
  return server.capacity().active_sessions;
}
