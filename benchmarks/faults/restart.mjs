import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "openenv-ts/client";
import { killAll } from "../harness/children.mjs";
import { startCluster } from "../harness/clusters.mjs";

export const title = "restart with a journal";

const SESSIONS = 2_000;
const AT_ONCE = 64;

export async function run({ quick }) {
  const folder = mkdtempSync(join(tmpdir(), "openenv-restart-"));
  const sessions = quick ? SESSIONS / 10 : SESSIONS;
  const start = (port) =>
    startCluster("node", {
      target: join(import.meta.dirname, "restorable.mjs"),
      args: ["--workers", "2", "--max-concurrent-envs", String(sessions), "--port", String(port)],
      env: { JOURNAL: join(folder, "sessions.db") },
    });
  let server = await start(0);
  try {
    const envs = [];
    for (let left = sessions; left > 0; left -= AT_ONCE) {
      const opened = Array.from({ length: Math.min(AT_ONCE, left) }, () =>
        connect(server.url, { check: false, resume: true, connectTimeoutMs: 60_000 }),
      );
      envs.push(...(await Promise.all(opened)));
    }
    await Promise.all(envs.map((env) => env.reset()));
    await Promise.all(envs.map((env) => env.step({ amount: 1 })));
    killAll([server.pid, ...server.processes()]);
    const killed = performance.now();
    server = await start(server.port);
    const started = performance.now();
    const results = await Promise.all(envs.map((env) => env.tryStep({ amount: 1 })));
    const continued = performance.now();
    const right = results.filter(({ observation }) => observation?.count === 2).length;
    await Promise.all(envs.map((env) => env.close()));
    const row = (name, measure, value, ...targets) => {
      return {
        id: `restart-${name}`,
        measure,
        unit: "ms",
        samples: { measured: [value] },
        targets,
      };
    };
    const lost = { ...row("lost", "of them lost or wrong", sessions - right), unit: "sessions" };
    return [
      { ...row("kills", "servers killed", 1), unit: "kills" },
      { ...row("sessions", "sessions of a server that was killed", sessions), unit: "sessions" },
      { ...lost, targets: [{ limit: "at most", value: 0 }] },
      row("start", "until the next server listens", started - killed),
      row("continued", "from the kill until all have made their next step", continued - killed, {
        limit: "at most",
        value: 5_000,
      }),
    ];
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
