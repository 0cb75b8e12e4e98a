import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { openAll, startFleet, step, until, untilAllKnow } from "../../test-support/servers/fleet.js";

const isAlive = async (url: string): Promise<boolean> => {
  const answer = await fetch(`${url}/livez`, { headers: { connection: "close" }, signal: AbortSignal.timeout(1_000) });
  return answer.ok;
};

async function connectTo(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.destroy();
}

test("a step that loops silences /livez while the port stays open, until the worker is replaced", async () => {
  await using fleet = await startFleet({ WORKER_TIMEOUT: "3", SHUTDOWN_GRACE: "0.1" });
  const [player] = await openAll(fleet.url, 1);
  expect(await isAlive(fleet.url)).toBe(true);
  player?.socket.send(step(14));
  await until(() =>
    isAlive(fleet.url).then(
      (alive) => !alive,
      () => true,
    ),
  );
  await connectTo(fleet.url);
  await until(() => isAlive(fleet.url).catch(() => false));
}, 60_000);

test("/livez is answered while one of two workers loops", async () => {
  await using fleet = await startFleet({ WORKERS: "2", WORKER_TIMEOUT: "60", SHUTDOWN_GRACE: "0.1" });
  const [player] = await openAll(fleet.url, 1);
  player?.socket.send(step(14));
  await until(async () => {
    const asked = await Promise.allSettled(Array.from({ length: 8 }, () => isAlive(fleet.url)));
    return asked.every((one) => one.status === "fulfilled");
  });
}, 60_000);

test("/readyz of a worker without room is ready as long as another has some", async () => {
  await using fleet = await startFleet({ WORKERS: "2", MAX_CONCURRENT_ENVS: "2" });
  const ready = async () => {
    const ask = () => fetch(`${fleet.url}/readyz`, { headers: { connection: "close" } });
    return new Set((await Promise.all(Array.from({ length: 12 }, ask))).map(({ status }) => status));
  };
  await openAll(fleet.url, 3);
  await untilAllKnow(fleet.url, { active_sessions: 3 });
  expect(await ready()).toEqual(new Set([200]));
  await openAll(fleet.url, 1);
  await until(async () => (await ready()).size === 1 && (await ready()).has(503));
}, 60_000);
