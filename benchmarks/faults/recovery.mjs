import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "openenv-ts/client";
import { startServer } from "../harness/servers.mjs";
import { startFaultProxy } from "./disturbed/proxy.mjs";

export const title = "time to continue after a cut";

const SESSIONS = 256;
const CUT_EVERY_MS = 10;
const PAUSE_MS = 100;

export async function run({ quick }) {
  const server = await startServer("ours", "echo");
  const proxy = await startFaultProxy({ url: server.url });
  const seen = { recovered: [], undisturbed: [] };
  try {
    const options = { check: false, resume: true };
    const envs = await Promise.all(Array.from({ length: SESSIONS }, () => connect(proxy.url, options)));
    await Promise.all(envs.map((env) => env.reset()));
    let isOver = false;
    const playing = envs.map(async (env) => {
      while (!isOver) {
        await sleep(PAUSE_MS * (0.5 + Math.random()));
        const began = performance.now();
        const { recovered } = await env.step({ message: "hello" });
        seen[recovered ? "recovered" : "undisturbed"].push(performance.now() - began);
      }
    });
    for (let left = (quick ? 3_000 : 30_000) / CUT_EVERY_MS; left > 0; left--) {
      await sleep(CUT_EVERY_MS);
      const links = [...proxy.links];
      links[Math.floor(Math.random() * links.length)]?.cut();
    }
    isOver = true;
    await Promise.all(playing);
    await Promise.all(envs.map((env) => env.close()));
  } finally {
    await proxy.close();
    await server.close();
  }
  const row = (id, measure, value, ...targets) => {
    return { id: `recovery-${id}`, measure, unit: "ms", samples: { measured: [value] }, targets };
  };
  return [
    { ...row("cuts", "cuts after which a session continued", seen.recovered.length), unit: "cuts" },
    row("p50", `time to continue, ${SESSIONS} sessions, p50`, quantile(seen.recovered, 0.5)),
    row("p99", "the same, p99", quantile(seen.recovered, 0.99), { limit: "at most", value: 50 }),
    row("step", "a step without a cut, p99", quantile(seen.undisturbed, 0.99)),
  ];
}

function quantile(values, share) {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? null;
}
