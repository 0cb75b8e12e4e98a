import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { openAll, startCluster, step, until, untilAllKnow } from "../../../test-support/servers/cluster.js";

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
  await using cluster = await startCluster({ WORKER_TIMEOUT: "3", SHUTDOWN_GRACE: "0.1" });
  const [player] = await openAll(cluster.url, 1);
  await until(() => isAlive(cluster.url).catch(() => false));
  player?.socket.send(step(14));
  await until(() =>
    isAlive(cluster.url).then(
      (alive) => !alive,
      () => true,
    ),
  );
  await connectTo(cluster.url);
  await until(() => isAlive(cluster.url).catch(() => false));
}, 120_000);

test("/livez is answered while one of two workers loops", async () => {
  await using cluster = await startCluster({ WORKERS: "2", WORKER_TIMEOUT: "60", SHUTDOWN_GRACE: "0.1" });
  const [player] = await openAll(cluster.url, 1);
  player?.socket.send(step(14));
  await until(async () => {
    const asked = await Promise.allSettled(Array.from({ length: 8 }, () => isAlive(cluster.url)));
    return asked.every((one) => one.status === "fulfilled");
  });
}, 120_000);

test("/readyz of a worker without room is ready as long as another has some", async () => {
  await using cluster = await startCluster({ WORKERS: "2", MAX_CONCURRENT_ENVS: "2" });
  const ready = async () => {
    const ask = () => fetch(`${cluster.url}/readyz`, { headers: { connection: "close" } });
    return new Set((await Promise.all(Array.from({ length: 12 }, ask))).map(({ status }) => status));
  };
  await openAll(cluster.url, 3);
  await untilAllKnow(cluster.url, { active_sessions: 3 });
  expect(await ready()).toEqual(new Set([200]));
  await openAll(cluster.url, 1);
  await until(async () => (await ready()).size === 1 && (await ready()).has(503));
}, 120_000);
