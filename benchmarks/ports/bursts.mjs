import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { descriptorLimit } from "openenv-ts/internal";
import { CLI } from "../harness/clusters.mjs";
import { docker, withImage } from "../providers/image.mjs";
import { findMissing, inNetworkOf, startEngine } from "./engine.mjs";

const ENVIRONMENT = fileURLToPath(new URL("../../envs/benchmark/dist/", import.meta.url));
const SIZES = [512, 4096];
const ROUNDS = 3;
const FEW_DESCRIPTORS = 5_000;
/** All sessions of a burst are open at the same time. */
const HOLD_SECONDS = 10;
const PORT = 8000;
/** Enough processes that the load is not the limit. */
const PROCESSES = 2;
const CAPACITY = ["--env", "MAX_CONCURRENT_ENVS=20000"];
const LOOPBACK = `127.0.0.1:${PORT}`;

export const title = "bursts through a published port";

/** The ways to reach a port of a container: options of the engine and of `docker run`, and the address for clients. */
const WAYS = [
  { id: "proxy", name: "`-p`, by 127.0.0.1", run: ["--publish", `${LOOPBACK}:8000`], address: LOOPBACK },
  {
    id: "proxy-few",
    name: `\`-p\`, by 127.0.0.1, engine with ${FEW_DESCRIPTORS} descriptors`,
    descriptors: FEW_DESCRIPTORS,
    run: ["--publish", `${LOOPBACK}:8000`],
    address: LOOPBACK,
  },
  { id: "bridge", name: "`-p`, by another address of the machine", run: ["--publish", `${PORT}:8000`] },
  {
    id: "no-proxy",
    name: "`-p`, by 127.0.0.1, engine with `userland-proxy: false`",
    options: ["--userland-proxy=false"],
    run: ["--publish", `${LOOPBACK}:8000`],
    address: LOOPBACK,
  },
  {
    id: "host",
    name: "`--network host`",
    run: ["--network", "host", "--env", `PORT=${PORT}`, "--env", "HOST=127.0.0.1"],
    address: LOOPBACK,
  },
];

export async function run({ quick }) {
  const missing = findMissing();
  if (missing) throw new Error(`not measured: ${missing}`);
  const folder = await mkdtemp(join(tmpdir(), "openenv-ports-"));
  const archive = join(folder, "image.tar");
  try {
    return await withImage(async (image) => {
      await docker("save", "--output", archive, image);
      const rows = [];
      for (const way of WAYS)
        rows.push(...(await measure(way, { image, archive, sizes: SIZES, rounds: quick ? 1 : ROUNDS })));
      return rows;
    }, ENVIRONMENT);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure({ id, name, descriptors = descriptorLimit(), options, run: args, address }, plan) {
  const engine = await startEngine({ descriptors, options, archive: plan.archive });
  const rows = [];
  const row = (what, measure, unit, measured) =>
    rows.push({ id: `${id}-${what}`, measure: `${name}: ${measure}`, unit, samples: { measured }, targets: [] });
  try {
    for (const size of plan.sizes) {
      const seen = { success: [], after: [], descriptors: [] };
      for (let round = 0; round < plan.rounds; round++) {
        // A port that has failed once stays closed, so each burst gets a new container.
        const container = await engine.docker("run", "--detach", ...CAPACITY, ...args, plan.image);
        const url = `http://${address ?? (await findAddress(engine, container))}`;
        await untilServed(engine, url);
        const proxy = await watchProxy(engine);
        seen.success.push(100 * (await burst(engine, url, size)));
        seen.descriptors.push(proxy.stop() / size);
        seen.after.push((await answers(engine, url)) ? 1 : 0);
        await engine.docker("rm", "--force", container);
      }
      row(`success-${size}`, `${size} sessions, succeeded`, "%", seen.success);
      row(`after-${size}`, `${size} sessions, port answers afterwards`, "1 = yes", seen.after);
      if (size === plan.sizes[0] && seen.descriptors.some((count) => count > 0))
        row("descriptors", "file descriptors of the proxy per session", "count", seen.descriptors);
    }
    return rows;
  } finally {
    await engine.close();
  }
}

/** The machine's address in the network that it shares with the container. */
async function findAddress(engine, container) {
  return `${await engine.docker("inspect", "--format", "{{.NetworkSettings.Gateway}}", container)}:${PORT}`;
}

/** The share of sessions that connected, reset and stepped. */
async function burst(engine, url, size) {
  const dir = await mkdtemp(join(tmpdir(), "openenv-burst-"));
  try {
    const args = ["-n", size, "-w", HOLD_SECONDS, "--reps", 1, "--processes", PROCESSES, "--json", "--output-dir", dir];
    const { output } = await runIn(engine, [process.execPath, CLI, "bench", url, ...args.map(String)]);
    // A port that has failed once stays closed, so only the first burst counts.
    return JSON.parse(output).rows.find(({ rep }) => rep === "first").success_rate;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function untilServed(engine, url) {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (await answers(engine, url)) return;
    await sleep(200);
  }
  throw new Error(`nothing answers at ${url}`);
}

async function answers(engine, url) {
  // Node exits with 0 while fetch waits on a connection that was closed at once, so failure is the default.
  const ask = `process.exitCode = 1; fetch("${url}/health").then(({ ok }) => process.exit(ok ? 0 : 1), () => {})`;
  return (await runIn(engine, [process.execPath, "-e", ask])).code === 0;
}

async function runIn(engine, command) {
  const [file, ...args] = inNetworkOf(engine, command);
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return { output, code };
}

/** Counts the file descriptors of docker-proxy until it is stopped; `stop` returns the maximum, 0 without a proxy. */
async function watchProxy({ pid }) {
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    threads.map((one) => readFile(`/proc/${pid}/task/${one}/children`, "utf8").catch(() => "")),
  );
  const proxies = lists.join(" ").trim().split(/\s+/);
  const names = await Promise.all(proxies.map((one) => readFile(`/proc/${one}/comm`, "utf8").catch(() => "")));
  const proxy = proxies[names.findIndex((name) => name.trim() === "docker-proxy")];
  let most = 0;
  const look = async () => {
    most = Math.max(most, (await readdir(`/proc/${proxy}/fd`).catch(() => [])).length);
  };
  const timer = proxy === undefined ? undefined : setInterval(look, 200);
  return {
    stop() {
      clearInterval(timer);
      return most;
    },
  };
}
