import { expect, test } from "vitest";
import { useServers } from "../../../../../test-support/servers/servers.js";
import { openSessions } from "./world.js";

const servers = useServers();

test("a session that was lost is replaced by a new one", async () => {
  const first = await servers.start();
  const { session, close } = openSessions({ headers: {}, timeoutMs: 20_000, signal: undefined });
  const lost = await session(first.url);
  expect(await session(first.url)).toBe(lost);
  await first.close();
  await expect(lost.ask("reset", {})).rejects.toThrow(/reset on \/ws/);
  await servers.start({ port: Number(new URL(first.url).port) });
  expect(await (await session(first.url)).ask("reset", {})).toMatchObject({ failed: false });
  await close();
});
