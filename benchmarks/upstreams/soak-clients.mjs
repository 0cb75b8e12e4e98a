import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { rng } from "openenv-ts";
import { connect } from "openenv-ts/client";
import { startFaultProxy } from "../faults/disturbed/proxy.mjs";

const SEEDS = 50;
const STEPS = 30;
/** The sessions of many clients must not all end at the same time. */
const EPISODES = 5;
/** Milliseconds of a client between two steps, for each of all clients: their number does not change the load. */
const PAUSE_MS = 2;
/** The text of a step that takes half a second. */
const SLOW = "sleep";
const SHARE = { slow: 0.03, state: 0.05 };
/** Kinds after which a client waits for a time limit. */
const WEIGHTS = { "connection without an answer": 0.1, "connection that falls silent": 0.2 };
const OPTIONS = { check: false };
const RESUME = { connectTimeoutMs: 5_000, resume: { pingIntervalMs: 1_000 } };
/** Matches the error of a session whose upstream was killed. */
const KILLED = /\b(process \d+) ended with signal 9\b/;

/** The numbers of the environment in `tiny_upstream.py`, for each seed: those of the reset and of the steps. */
export function readNumbers(python) {
  const script = `
import json, random
episodes = [random.Random(seed) for seed in range(${SEEDS})]
print(json.dumps([[numbers.randrange(1_000_000) for _ in range(${STEPS} + 1)] for numbers in episodes]))`;
  return JSON.parse(execFileSync(python, ["-c", script], { encoding: "utf8" }));
}

/** What clients have seen. */
export class Ledger {
  sessions = 0;
  episodes = 0;
  steps = 0;
  repeated = 0;
  missing = 0;
  wrong = 0;
  faults = 0;
  /** Clients that waited too long for a place. */
  refused = 0;
  /** How many sessions were lost with each process. */
  lost = new Map();
  /** Errors that do not name a killed process. */
  unnamed = [];

  lose(error) {
    const name = error.code === "SESSION_LOST" && KILLED.exec(error.message)?.[1];
    if (error.code === "CAPACITY_REACHED") this.refused++;
    else if (name) this.lost.set(name, (this.lost.get(name) ?? 0) + 1);
    else this.unnamed.push(`${error.code}: ${error.message}`);
    process.stderr.write(`  lost: ${error.message}\n`);
  }

  compare(observation, expected) {
    if (observation.count > expected.count) this.repeated++;
    else if (observation.count < expected.count) this.missing++;
    else if (observation.number !== expected.number || observation.text !== expected.text) this.wrong++;
  }
}

/** Plays sessions one after the other until `isOver`. With `resume`, faults disturb the connection of an open session. */
export async function playSessions({ url, numbers, ledger, isOver, client, clients, resume }) {
  const random = rng(client + 1);
  const proxy = resume ? await startFaultProxy({ url, seed: client + 1, weights: WEIGHTS }) : undefined;
  const address = proxy ? proxy.url : url;
  const pause = () => sleep(random.next() * 2 * PAUSE_MS * clients);
  while (!isOver()) {
    let env;
    try {
      env = await connect(address, { ...OPTIONS, ...(resume && RESUME) });
      for (let left = random.int(1, EPISODES); left > 0 && !isOver(); left--) {
        await playEpisode(env, { numbers, ledger, random, pause, isOver, id: `${client} ${ledger.episodes}` });
        // An open session has an address: a connection that fails before would be an error for the client.
        proxy?.disturb();
      }
      ledger.sessions++;
    } catch (error) {
      ledger.lose(error);
    }
    proxy?.calm();
    await env?.close();
  }
  ledger.faults += proxy?.faults ?? 0;
  await proxy?.close();
}

async function playEpisode(env, { numbers, ledger, random, pause, isOver, id }) {
  const seed = random.int(0, SEEDS - 1);
  const first = await env.reset({ seed, episode_id: id });
  ledger.compare(first.observation, { count: 0, number: numbers[seed][0], text: "" });
  ledger.episodes++;
  for (let count = 1; count <= STEPS && !isOver(); count++) {
    await pause();
    const text = random.next() < SHARE.slow ? SLOW : `${id} ${count}`;
    const { observation } = await env.step({ text });
    ledger.compare(observation, { count, number: numbers[seed][count], text });
    ledger.steps++;
    if (random.next() >= SHARE.state) continue;
    const state = await env.state();
    if (state.step_count !== count || state.episode_id !== id) ledger.wrong++;
  }
}
