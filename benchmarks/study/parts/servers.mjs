import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { findServerProcesses, readServerUse } from "@openenv-ts/bench";
import { hasBalancer } from "../../harness/balancer.mjs";
import { runChild } from "../../harness/children.mjs";
import { CLI } from "../../harness/clusters.mjs";
import { startSetup } from "../servers.mjs";
import { three, whole } from "../text.mjs";

const SERVERS = [1, 4, 8];
const SESSIONS = 256;
const SECONDS = 5;
const ROUNDS = 3;

export const title = "What do more servers change?";
export const minutes = 4;
export const picture = { title: `Steps of ${SESSIONS} sessions through one HAProxy`, unit: "per second" };

/** The cores of each: a core for every server where there are 16, else the servers share one and the rest the other. */
function layOut(cores = availableParallelism()) {
  if (cores >= 16) return { servers: "0-7", balancer: "8-10", load: "11-15", processes: 4 };
  return { servers: "0", balancer: "1", load: "1", processes: 1 };
}

export function describeRun() {
  const { servers, balancer, load } = layOut();
  return { notes: [`Pinned to cores: servers ${servers}, balancer ${balancer}, load ${load}.`] };
}

export function findMissing() {
  if (!hasBalancer("haproxy")) return "haproxy is not installed";
  if (availableParallelism() < 2) return "it needs two cores";
  return undefined;
}

export async function run({ quick }) {
  const samples = { steps: {}, p99: {}, server: {}, balancer: {}, load: {} };
  for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
    for (const servers of quick ? SERVERS.slice(0, 2) : SERVERS) {
      const measured = await measure(servers, quick ? 1 : SECONDS);
      const name = servers === 1 ? "1 server" : `${servers} servers`;
      for (const key of Object.keys(samples)) (samples[key][name] ??= []).push(measured[key]);
    }
  }
  const row = (id, measure, unit) => ({ id: `servers-${id}`, measure, unit, samples: samples[id], targets: [] });
  return [
    row("steps", `steps of ${SESSIONS} sessions in a closed loop`, "per second"),
    row("p99", "a step, p99", "ms"),
    row("server", "processor time of the servers, with that to open and to warm up", "s"),
    row("balancer", "processor time of the balancer", "s"),
    row("load", "how busy the busiest process of the load is, of 1", "share"),
  ];
}

export function say(value, { subjects }) {
  const rates = subjects.map(
    (subject) => `${whole(Math.round(value("servers-steps", subject)))} steps/s with ${subject}`,
  );
  const [first, last] = [subjects[0], subjects.at(-1)];
  const ratio = value("servers-steps", last) / value("servers-steps", first);
  return [`${rates.join(", ")}: ${three(ratio)} times as many with ${last} as with ${first}.`];
}

async function measure(servers, seconds) {
  const cores = layOut();
  const setup = await startSetup({
    ...{ start: "node", servers, workers: 1, capacity: SESSIONS, balancer: { kind: "haproxy" } },
  });
  const dir = mkdtempSync(join(tmpdir(), "openenv-study-"));
  try {
    for (const { port } of setup.servers) pin(port, cores.servers);
    pin(setup.port, cores.balancer);
    const ports = setup.servers.map(({ port }) => port);
    const before = [ports, [setup.port]].map(useOf);
    const options = ["--connections-grid", SESSIONS, "--seconds", seconds, "--processes", cores.processes].map(String);
    const bench = [
      process.execPath,
      CLI,
      "bench",
      setup.url,
      "--throughput",
      ...options,
      "--json",
      "--output-dir",
      join(dir, "out"),
    ];
    const output = await runChild(["taskset", "-c", cores.load, ...bench]);
    const [server, balancer] = [ports, [setup.port]].map((one, index) => useOf(one) - before[index]);
    const [row] = JSON.parse(output).rows;
    return { steps: row.steps_per_second, p99: row.p99_ms, server, balancer, load: row.client_busy };
  } finally {
    rmSync(dir, { recursive: true, force: true });
    await setup.close();
  }
}

/** All threads of the processes behind a port. */
function pin(port, cores) {
  for (const pid of findServerProcesses(port))
    execFileSync("taskset", ["-a", "-c", "-p", cores, String(pid)], { stdio: "ignore" });
}

function useOf(ports) {
  return ports.reduce((sum, port) => sum + readServerUse(port).cpuSeconds, 0);
}
