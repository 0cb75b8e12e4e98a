/** In a separate file: the mocked clock would disturb every other test of the process. */
import { expect, test, vi } from "vitest";
import { fetchAsOperator, WITH_OPERATOR } from "../../../../../test-support/operator.js";
import { useServers } from "../../../../../test-support/servers/servers.js";

const { start, open } = useServers();

test("what a server refuses because it drains is counted, and that it drains is said", async () => {
  const server = await start({ ...WITH_OPERATOR, drainMs: 200_000 });
  const scrape = async () => {
    const text = await (await fetchAsOperator(`${server.url}/metrics`)).text();
    const read = (series: string) => Number(new RegExp(`^${series}.*} (\\S+)$`, "m").exec(text)?.[1]);
    return [read("openenv_draining"), read('openenv_rejections_total.*reason="draining"')];
  };
  const socket = await open(server);
  await socket.ask({ type: "reset", data: {} });
  const drained = server.drain();
  expect(await scrape()).toEqual([1, 0]);
  // Who comes in the first five seconds is let in.
  const real = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => real() + 10_000);
  const isRefused = async (): Promise<boolean> => {
    const late = await open(server).catch(() => undefined);
    late?.ws.terminate();
    return late === undefined;
  };
  await expect.poll(isRefused).toBe(true);
  expect(await scrape()).toEqual([1, 1]);
  expect((await fetch(`${server.url}/reset`, { method: "POST" })).ok).toBe(false);
  expect(await scrape()).toEqual([1, 2]);
  socket.ws.terminate();
  await server.close();
  await drained;
});
