/**
 * `npm run bench -- rollouts`: what recording costs on steps per CPU-second, and how long queries take in an archive of
 * 100,000 episodes of 10 steps. Options: --quick, with 2,000 episodes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { renderReport } from "@openenv-ts/bench";
import { loadArchive } from "openenv-ts/internal";
import { EPISODE_FORMAT } from "openenv-ts/protocol";
import { measureSteps } from "../harness/rate.mjs";
import { startServer } from "../harness/servers.mjs";

const CONNECTIONS = 32;
const STEPS = 10;
const WORDS = ["river", "stone", "cloud", "ember", "maple", "harbor", "violet", "copper"];

const { values: options } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const [rounds, seconds, episodes] = options.quick ? [2, 1, 2_000] : [8, 3, 100_000];
const folder = mkdtempSync(join(tmpdir(), "openenv-bench-"));
const rows = [];
try {
  rows.push(await measureRecording());
  rows.push(...(await measureQueries()));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(
  renderReport({
    title: "Rollouts",
    facts: {
      date: new Date().toISOString().slice(0, 10),
      node: process.version,
      machine: `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}, ${process.platform} ${process.arch}, shared`,
    },
    subjects: ["recorded", "plain"],
    rows,
    notes: [`${episodes} episodes of ${STEPS} steps. Queries are those of one process, without HTTP, in turn.`],
  }),
);

async function measureRecording() {
  const samples = { recorded: [], plain: [] };
  const bench = { busy: {} };
  for (let round = 0; round < rounds; round++) {
    for (const subject of round % 2 ? ["plain", "recorded"] : ["recorded", "plain"]) {
      const env = subject === "recorded" ? { OPENENV_STORE: join(folder, `steps-${round}`) } : {};
      const server = await startServer("ours", "echo", [], env);
      try {
        samples[subject].push(
          await measureSteps(bench, { subject, server, connections: CONNECTIONS, warmUp: 1, seconds }),
        );
      } finally {
        await server.close();
      }
    }
  }
  const targets = [{ limit: "at least", value: 0.85, of: "plain" }];
  return {
    id: "rollouts-steps",
    measure: `steps, ${CONNECTIONS} connections`,
    unit: "per server CPU-second",
    samples,
    targets,
  };
}

async function measureQueries() {
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
    const times = Array.from({ length: options.quick ? 3 : 20 }, (_, round) => {
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
