import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CLI } from "../harness/clusters.mjs";

const REQUESTS = 16_384;
const QUICK = 1024;
const PORTS = { ours: 23_001, control: 23_002 };
const COMMANDS = {
  ours: (port) =>
    `MAX_CONCURRENT_ENVS=20000 node ${CLI} serve ${path("../../envs/benchmark")} --workers 2 --port ${port} --log-level error`,
  control: (port) => `PORT=${port} WORKERS=2 node ${path("../controls/benchmark_control.mjs")}`,
};

export const title = "a cold burst with two workers on Node";

/** One burst at a new server each time, client and server on the same cores, as `openenv bench --cold` measures it. */
export async function run(bench) {
  const requests = bench.quick ? QUICK : REQUESTS;
  const rounds = bench.quick ? 1 : 5;
  const names = Object.keys(PORTS);
  const servers = names.flatMap((name) => [`http://127.0.0.1:${PORTS[name]}`, "--cold", COMMANDS[name](PORTS[name])]);
  const folder = mkdtempSync(join(tmpdir(), "openenv-bench-"));
  try {
    const args = ["bench", ...servers, "-n", requests, "-w", 1, "--reps", rounds, "--output-dir", folder, "--json"];
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...args.map(String)], { maxBuffer: 2 ** 26 });
    const rows = JSON.parse(stdout).rows.filter(({ rep }) => rep !== "all");
    return describe(rows, requests);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function describe(rows, requests) {
  const burst = `Node: cold burst of ${requests.toLocaleString("en-US")}, two workers`;
  const limit = [{ limit: "at most", value: 1.15, of: "control" }];
  const read = (value) =>
    Object.fromEntries(
      Object.entries(PORTS).map(([name, port]) => [
        name,
        rows.filter(({ url }) => url.endsWith(`:${port}`)).map((row) => value(row)),
      ]),
    );
  return [
    {
      id: "cold-p99",
      measure: `${burst}: p99 of a request with a step of 1 s`,
      unit: "s",
      samples: read(({ total_p99_ms }) => total_p99_ms / 1000),
      targets: limit,
    },
    {
      id: "cold-cpu",
      measure: `${burst}: server CPU time`,
      unit: "s",
      samples: read(({ server_cpu_seconds }) => server_cpu_seconds),
      targets: limit,
    },
    {
      id: "cold-failed",
      measure: `${burst}: failed requests`,
      unit: "of each burst",
      samples: read(({ made, succeeded }) => made - succeeded),
      targets: [{ limit: "at most", value: 0 }],
    },
  ];
}

function path(place) {
  return fileURLToPath(new URL(place, import.meta.url));
}
