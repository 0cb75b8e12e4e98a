/**
 * `npm run bench -- rollouts`: what recording costs on steps per CPU-second, how long queries take in an archive of 100,000
 * episodes of 10 steps, what searches do to steps, and what viewers of 10,000 live sessions cost, also in the page where
 * CHROMIUM names a browser. --quick has 2,000 episodes and 500 sessions. Options: see harness/suite.mjs.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createLoad, measureCpu } from "@openenv-ts/bench";
import { connect, connectVector } from "openenv-ts/client";
import { loadArchive } from "openenv-ts/internal";
import { EPISODE_FORMAT } from "openenv-ts/protocol";
import { Bench } from "../harness/bench.mjs";
import { echoWorkload, measureTurns } from "../harness/rate.mjs";
import { startServer } from "../harness/servers.mjs";
import { runSuite } from "../harness/suite.mjs";

const CONNECTIONS = 32;
const STEPS = 10;
/** Live sessions that step in each second, while the page is measured. */
const STEPPING = 200;
/** The threads of the archive are loaded and compiled. */
const WARM_UP_SECONDS = 4;
/** An episode that runs is written after two seconds. */
const WRITTEN_MS = 2_200;
const WORDS = ["river", "stone", "cloud", "ember", "maple", "harbor", "violet", "copper"];

class RolloutsBench extends Bench {
  subjects = ["recorded", "plain", "undisturbed"];
  python = undefined;
  folder = mkdtempSync(join(tmpdir(), "openenv-bench-"));

  constructor({ quick }) {
    super({ quick });
    const [rounds, seconds, episodes, live] = quick ? [2, 1, 2_000, 500] : [8, 3, 100_000, 10_000];
    Object.assign(this, { rounds, seconds, episodes, live });
  }

  async close() {
    await super.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function measureRecording(bench) {
  const { quick, folder } = bench;
  const open = async (subject) => {
    const env = subject === "recorded" ? { OPENENV_STORE: mkdtempSync(join(folder, "steps-")) } : {};
    const server = await startServer("ours", "echo", [], env);
    const load = await createLoad({ url: server.url, connections: CONNECTIONS, workload: echoWorkload });
    await load.step(WARM_UP_SECONDS);
    const close = async () => {
      await load.close();
      await server.close();
    };
    return { server, work: (seconds) => load.step(seconds), close };
  };
  const [starts, turns, seconds] = quick ? [1, 2, 1] : [10, 12, 0.4];
  const subjects = ["recorded", "plain"];
  const samples = await measureTurns({ subjects, starts, turns, seconds, settleMs: WRITTEN_MS, open });
  const targets = [{ limit: "at least", value: 0.85, of: "plain" }];
  return [
    {
      id: "rollouts-steps",
      measure: `steps, ${CONNECTIONS} connections`,
      unit: "per server CPU-second",
      samples,
      targets,
    },
  ];
}

async function measureQueries({ folder, episodes, quick }) {
  const store = join(folder, "queries");
  const open = await loadArchive();
  const writer = await open(store, "write");
  for (let from = 0; from < episodes; from += 500) {
    writer.add(Array.from({ length: Math.min(500, episodes - from) }, (_, index) => makeRecord(from + index)));
  }
  writer.close();
  const loaded = performance.now();
  const archive = await open(store, "read");
  const opening = performance.now() - loaded;
  const row = (id, measure, limit, run) => {
    const times = Array.from({ length: quick ? 3 : 20 }, (_, round) => {
      const from = performance.now();
      run(round);
      return performance.now() - from;
    });
    return {
      id: `rollouts-${id}`,
      measure,
      unit: "ms",
      samples: { recorded: times },
      targets: [{ limit: "at most", value: limit }],
    };
  };
  const list = (q, sort) => archive.list({ q, by: "episode", sort, limit: 100 });
  try {
    return [
      { id: "rollouts-open", measure: "open", unit: "ms", samples: { recorded: [opening] }, targets: [] },
      row("rows", "first rows", 300, (round) => list(`steps:<${100 + round}`)),
      row("facets", "facets", 80, (round) => archive.facets(`reward:>${round / 100}`)),
      row("sort", "sort by reward", 150, (round) => list(`steps:<${200 + round}`, "-reward")),
      row("groups", "groups", 300, (round) => archive.list({ q: `steps:<${300 + round}`, by: "group", limit: 100 })),
      row("text", "full-text search", 300, (round) => list(`${WORDS[round % WORDS.length]}`)),
    ];
  } finally {
    archive.close();
  }
}

/** The p99 of steps in the archive of the queries, with four new searches a second in turns. */
async function measureSearches({ rounds, seconds, folder }) {
  const server = await startServer("ours", "echo", [], { OPENENV_STORE: join(folder, "queries") });
  const envs = await Promise.all(Array.from({ length: CONNECTIONS }, () => connect(server.url)));
  const samples = { recorded: [], undisturbed: [] };
  let searches = 0;
  const search = async () => {
    const number = searches++;
    const q = number % 2 ? `${WORDS[number % WORDS.length]} steps:<${100 + number}` : `reward:>${number / 1e4}`;
    const response = await fetch(`${server.url}/rollouts?${new URLSearchParams({ q, sort: "-reward" })}`);
    if (!response.ok) throw new Error(`a search was answered with ${response.status}`);
    await response.arrayBuffer();
  };
  try {
    await Promise.all(envs.map((env) => env.reset()));
    for (let round = 0; round < 2 * rounds; round++) {
      const subject = round % 2 ? "undisturbed" : "recorded";
      const end = performance.now() + seconds * 1000;
      const searching = [];
      const timer = subject === "undisturbed" ? undefined : setInterval(() => searching.push(search()), 250);
      const times = await Promise.all(envs.map((env) => stepUntil(env, end)));
      clearInterval(timer);
      await Promise.all(searching);
      const sorted = times.flat().toSorted((a, b) => a - b);
      samples[subject].push(sorted[Math.floor(sorted.length * 0.99)]);
    }
  } finally {
    await Promise.all(envs.map((env) => env.close()));
    await server.close();
  }
  const targets = [{ limit: "at most", value: 1.5, of: "undisturbed" }];
  return [
    {
      id: "rollouts-p99",
      measure: `a step, p99, ${CONNECTIONS} clients, four searches a second`,
      unit: "ms",
      samples,
      targets,
    },
  ];
}

async function stepUntil(env, end) {
  const times = [];
  for (let from = performance.now(); from < end; ) {
    await env.step({ message: WORDS[times.length % WORDS.length] });
    const now = performance.now();
    times.push(now - from);
    from = now;
  }
  return times;
}

/** The processor time of a server with many recorded sessions that wait, with two viewers in turns, then the page's frames. */
async function measureViewers({ quick, rounds, seconds, folder, live }) {
  const env = { OPENENV_STORE: join(folder, "live"), MAX_CONCURRENT_ENVS: String(live) };
  const server = await startServer("ours", "echo", [], env);
  const envs = await connectVector(server.url, { size: live });
  const samples = { recorded: [], undisturbed: [] };
  const frames = [];
  try {
    await envs.reset();
    await envs.step(Array.from({ length: live }, () => ({ message: "hello" })));
    // Rows of episodes that run are written after 2 s, and V8 collects garbage for another half minute.
    await sleep(quick ? 5_000 : 60_000);
    for (let round = 0; round < rounds; round++) {
      const subject = round % 2 ? "undisturbed" : "recorded";
      const viewers = new AbortController();
      const watched = [1, 2].map(() => (subject === "undisturbed" ? undefined : watch(server.url, viewers.signal)));
      await sleep(1_000);
      const used = await measureCpu(server.pid, () => sleep(seconds * 2_000));
      viewers.abort();
      await Promise.allSettled(watched);
      samples[subject].push((100 * used.cpuSeconds) / used.seconds);
    }
    frames.push(...(await measureFrames({ url: server.url, envs, rounds, seconds, live })));
  } finally {
    await envs.close();
    await server.close();
  }
  const count = live.toLocaleString("en");
  const cost = { id: "rollouts-live", measure: `${count} live sessions, two viewers`, unit: "% of a core", samples };
  const page = {
    id: "rollouts-frames",
    measure: `${count} live sessions, ${STEPPING} steps a second: the longest time between two frames of the page`,
    unit: "ms",
    samples: { recorded: frames },
  };
  return [
    { ...cost, targets: [{ limit: "at most", value: 2 }] },
    ...(frames.length > 0 ? [{ ...page, targets: [{ limit: "at most", value: 50 }] }] : []),
  ];
}

/** The longest frame of the page in each of some windows, in milliseconds; none without a browser. */
async function measureFrames({ url, envs, rounds, seconds, live }) {
  const executablePath = process.env.CHROMIUM;
  if (!executablePath) return [];
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const stepping = Array.from({ length: live }, (_, nth) => (nth < STEPPING ? { message: "hello" } : null));
  const stepper = setInterval(() => void envs.step(stepping), 1_000);
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${url}/web/#/rollouts`);
    await page.getByText(live.toLocaleString("en")).first().waitFor();
    await sleep(5_000);
    const longest = [];
    for (let round = 0; round < rounds; round++) longest.push(await page.evaluate(watchFrames, seconds * 1_000));
    return longest;
  } finally {
    clearInterval(stepper);
    await browser.close();
  }
}

/** Runs in the page. */
function watchFrames(ms) {
  return new Promise((resolve) => {
    const start = performance.now();
    let [before, longest] = [start, 0];
    const next = (now) => {
      longest = Math.max(longest, now - before);
      before = now;
      if (now - start > ms) resolve(longest);
      else requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
}

async function watch(url, signal) {
  const { body } = await fetch(`${url}/rollouts/live`, { signal });
  for await (const _ of body);
}

function makeRecord(episode) {
  const word = (step) => WORDS[(episode * 7 + step * 3) % WORDS.length];
  return {
    format: EPISODE_FORMAT,
    episode,
    environment: "echo_env",
    url: "",
    started_at: new Date(1_700_000_000_000 + episode * 1000).toISOString(),
    reset: { seed: episode >> 3, metadata: { run: `run-${episode % 5}`, policy_step: Math.floor(episode / 1000) } },
    start: { observation: { echoed_message: "", message_length: 0 }, reward: null, done: false, ms: 0.1 },
    steps: Array.from({ length: STEPS }, (_, step) => ({
      action: { message: `${word(step)} of episode ${episode}` },
      observation: { echoed_message: `${word(step)} of episode ${episode}`, message_length: 20 },
      reward: ((episode * 31 + step) % 17) / 17,
      done: step === STEPS - 1,
      ms: 0.2,
    })),
    total_reward: 0,
    end: "done",
  };
}

await runSuite({
  title: "Rollouts",
  name: "rollouts",
  variables: "CHROMIUM=chromium",
  parts: {
    recording: { title: "steps that are recorded", run: measureRecording },
    queries: { title: "queries", run: measureQueries },
    searches: { title: "steps next to searches, in the archive of the queries", run: measureSearches },
    viewers: { title: "viewers of live sessions", run: measureViewers },
  },
  createBench: (options) => new RolloutsBench(options),
  notes: ({ episodes }) => [
    `${episodes.toLocaleString("en")} episodes of ${STEPS} steps. Queries are those of one process, without HTTP, in turn. Undisturbed: without searches, and without viewers.`,
    `Servers are warm: recorded and plain steps are measured after ${WARM_UP_SECONDS} seconds of steps, in turns of two servers that both live. CPU-seconds are those of the server with all its threads, and contain the writing.`,
  ],
});
