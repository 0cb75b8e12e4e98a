import { createHash, randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { type Action, defineEnvironment, type Environment, type StepContext } from "openenv-ts";
import { connect } from "openenv-ts/client";
import { benchmark } from "../models.js";

const HASH_CHARACTERS = 16;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

class BenchmarkEnvironment implements Environment<typeof benchmark> {
  readonly #sessionHash = createHash("sha256").update(randomUUID()).digest("hex").slice(0, HASH_CHARACTERS);

  reset() {
    return { observation: this.#observe(0), reward: 0, done: false };
  }

  step({ wait_seconds }: Action<typeof benchmark>, context: StepContext) {
    // Without a wait nothing is asynchronous and no signal is made, so that the server's own speed is measured.
    if (wait_seconds === 0) return this.#answer(0);
    return wait(wait_seconds, context.signal).then(() => this.#answer(wait_seconds));
  }

  #answer(waited: number) {
    return { observation: this.#observe(waited), reward: 1 / (1 + waited), done: false, metadata: { waited } };
  }

  #observe(waited: number) {
    return {
      host_url: hostname(),
      pid: process.pid,
      session_hash: this.#sessionHash,
      waited_seconds: waited,
      timestamp: Date.now() / 1000,
    };
  }
}

const environment = defineEnvironment(benchmark, () => new BenchmarkEnvironment(), { stepBeforeReset: "allow" });
export default environment;

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await checkSelf();

/** In turns, because a timer of more than 31 bits fires at once. */
async function wait(seconds: number, signal: AbortSignal): Promise<void> {
  for (let left = seconds * 1000; left > 0; left -= LONGEST_TIMER_MS) {
    await sleep(Math.min(left, LONGEST_TIMER_MS), undefined, { signal });
  }
}

/** `node dist/server/environment.js`: plays an episode in process and says what came back. */
async function checkSelf(): Promise<void> {
  await using env = await connect(environment);
  const start = await env.reset({ seed: 1 });
  const waited = await env.step({ wait_seconds: 0.05 });
  const { observation, reward } = waited;
  const same = observation.session_hash === start.observation.session_hash;
  if (!same || observation.waited_seconds !== 0.05 || reward !== 1 / 1.05) {
    throw new Error(`the self-check failed: ${JSON.stringify(waited)}`);
  }
  console.log(`benchmark_env: ok, session ${observation.session_hash}, pid ${observation.pid}, reward ${reward}`);
}
