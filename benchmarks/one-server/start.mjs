import { once } from "node:events";
import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { residentBytes } from "@openenv-ts/bench";
import { startServer } from "../harness/servers.mjs";

/** Time for a server to finish its work after the first response. */
const SETTLE_MS = 300;

export const title = "start";

export async function run(bench) {
  const memory = { ours: [], control: [], python: [] };
  const samples = await bench.interleave(
    bench.quick ? { ours: 4, control: 4 } : { ours: 12, control: 12, python: 2 },
    async (subject) => {
      const started = performance.now();
      const server = await startServer(subject, "echo");
      try {
        await health(server.url);
        const milliseconds = performance.now() - started;
        await sleep(SETTLE_MS);
        memory[subject].push(residentBytes(server.pid) / 1e6);
        return milliseconds;
      } finally {
        await server.close();
      }
    },
  );
  return [
    {
      id: "start",
      measure: "start until /health answers",
      unit: "ms",
      samples,
      targets: [{ limit: "at most", value: 1.5, of: "control" }],
    },
    {
      id: "memory-start",
      measure: "memory of a started server",
      unit: "MB",
      samples: memory,
      targets: [{ limit: "at most", value: 75 }],
    },
  ];
}

async function health(url) {
  const [response] = await once(get(`${url}/health`, { agent: false }), "response");
  response.resume();
  if (response.statusCode !== 200) throw new Error(`/health answered ${response.statusCode}`);
}
