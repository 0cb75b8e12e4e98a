import { join } from "node:path";
import { killAll } from "../../harness/children.mjs";
import { startCluster } from "../../harness/clusters.mjs";

const WORKERS = 2;

/** `counted.mjs` with two workers, which write their calls to the folder. */
export async function startServer(folder, journal) {
  const start = (port) =>
    startCluster("node", {
      target: join(import.meta.dirname, "counted.mjs"),
      args: [
        ...["--workers", String(WORKERS), "--max-concurrent-envs", "1000", "--port", String(port)],
        ...(journal ? ["--journal", journal] : []),
      ],
      env: { COUNTED_CALLS: folder },
    });
  let server = await start(0);
  const { port, url } = server;
  const workers = () => server.processes().filter((pid) => pid !== server.pid);
  return {
    url,
    /** Kills the oldest worker, which has the most sessions, if all of them run; returns whether it did. */
    killWorker() {
      const pids = workers();
      if (pids.length < WORKERS) return false;
      killAll([Math.min(...pids)]);
      return true;
    },
    /** Kills all processes and starts them again at the same port. */
    async killAll() {
      killAll([server.pid, ...workers()]);
      await server.close();
      server = await start(port);
      return true;
    },
    close: () => server.close(),
  };
}

const AWAY_MS = 1_000;

/** A worker is killed, and then the whole server. */
export const killServers = ({ server }) => ({
  "worker killed": { isKill: true, act: async () => server.killWorker() },
  "server killed": { isKill: true, act: () => server.killAll() },
});

/** Redis is killed, stopped or suspended, and is back after a while. */
export const killRedis = ({ journal }) => ({
  "Redis killed": { act: () => journal.restart("SIGKILL", AWAY_MS) },
  "Redis stopped": { act: () => journal.restart("SIGTERM", AWAY_MS) },
  "Redis suspended for 1 s": { act: () => journal.suspend(1_000) },
  "Redis suspended for longer than its time limit": { act: () => journal.suspend(7_000) },
});
