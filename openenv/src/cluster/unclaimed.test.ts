import { expect, test } from "vitest";
import { openAll, RESET, startFleet, until } from "../../test-support/fleet.js";
import { openTestSocket } from "../../test-support/socket.js";

test("workers close sockets that stay silent for clients that need their slots, and only then", {
  timeout: 120_000,
}, async () => {
  await using fleet = await startFleet({ WORKERS: "2", MAX_CONCURRENT_ENVS: "2" });
  const { url } = fleet;
  const [busy] = await openAll(url, 1);
  const silent = await Promise.all(Array.from({ length: 3 }, () => openTestSocket(`${url}/ws`)));
  const closed: { code: number }[] = [];
  for (const { closed: end } of silent) void end.then((how) => closed.push(how));

  const served: unknown[] = [];
  await until(async () => {
    const socket = await openTestSocket(`${url}/ws`);
    const answer = await socket.ask(RESET).catch(() => undefined);
    if (answer?.["type"] === "observation") served.push(socket);
    return served.length === 3;
  });
  await until(() => closed.length === 3);
  expect(closed.map(({ code }) => code)).toEqual([4000, 4000, 4000]);
  const refused = await openTestSocket(`${url}/ws`);
  expect(await refused.receive()).toMatchObject({ data: { code: "CAPACITY_REACHED" } });
  expect(await busy?.socket.ask(RESET)).toMatchObject({ type: "observation" });
});
