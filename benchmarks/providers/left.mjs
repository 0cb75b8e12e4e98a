import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { dockerProvider, processProvider } from "@openenv-ts/providers";
import { docker, withImage } from "./image.mjs";
import { ECHO } from "./process.mjs";

const AT_ONCE = 4;
/** Time for processes that end by themselves. */
const SETTLE_MS = 3_000;

export const title = "leftovers";

export function run(bench) {
  return withImage((image) => measure(bench.quick ? 8 : 100, image));
}

async function measure(times, image) {
  const before = await count(image);
  await startAndStop(times, () => processProvider().start({ directory: ECHO }));
  await startAndStop(times, () => dockerProvider().start({ image }));
  await sleep(SETTLE_MS);
  const after = await count(image);
  return Object.keys(after).map((what) => ({
    id: `left-${what}`,
    measure: `${what} left after ${times} starts and stops of each`,
    unit: "count",
    samples: { ours: [after[what] - before[what]] },
    targets: [{ limit: "at most", value: 0 }],
  }));
}

async function startAndStop(times, start) {
  let done = 0;
  const work = async () => {
    while (done < times) {
      done++;
      const started = await start();
      await started.close();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function count(image) {
  const containers = await docker("ps", "--all", "--quiet", "--filter", `ancestor=${image}`);
  const networks = await docker("network", "ls", "--quiet");
  return { containers: lines(containers), networks: lines(networks), processes: descendants().length };
}

function lines(text) {
  return text.split("\n").filter(Boolean).length;
}

function descendants() {
  const found = new Set([process.pid]);
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  for (let size = 0; size !== found.size; ) {
    size = found.size;
    for (const pid of all) if (found.has(parentOf(pid))) found.add(Number(pid));
  }
  return [...found].filter((pid) => pid !== process.pid);
}

function parentOf(pid) {
  try {
    return Number(
      readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ")[1],
    );
  } catch {
    return 0;
  }
}
