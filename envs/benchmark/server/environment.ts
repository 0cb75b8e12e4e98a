import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { pathToFileURL } from "node:url";
import { type Action, defineEnvironment, type Environment } from "openenv-ts";
import { connect } from "openenv-ts/client";
import { benchmark } from "../models.js";

const HASH_BYTES = 8;
/** Read once: each call of hostname() asks the system, which would be a tenth of the work of a step. */
const HOST_URL = hostUrl(process.env["PORT"]);
const LONGEST_TIMER_MS = 2 ** 31 - 1;

class BenchmarkEnvironment implements Environment<typeof benchmark> {
  readonly #sessionHash = randomBytes(HASH_BYTES).toString("hex");

  reset() {
    return { observation: this.#observe(0), reward: 0, done: false };
  }

  step({ wait_seconds }: Action<typeof benchmark>) {
    // Nothing is asynchronous without a wait, and a wait is one timer and one promise, so that the server's own speed is
    // measured.
    if (wait_seconds === 0) return this.#answer(0);
    const answer = () => this.#answer(wait_seconds);
    return new Promise<ReturnType<typeof answer>>((resolve) => {
      wait(wait_seconds * 1000, () => resolve(answer()));
    });
  }

  #answer(waited: number) {
    return { observation: this.#observe(waited), reward: 1 / (1 + waited), done: false, metadata: { waited } };
  }

  #observe(waited: number) {
    return {
      host_url: HOST_URL,
      pid: process.pid,
      session_hash: this.#sessionHash,
      waited_seconds: waited,
      timestamp: Date.now() / 1000,
    };
  }
}

const environment = defineEnvironment(benchmark, () => new BenchmarkEnvironment(), {
  stepBeforeReset: "allow",
  // It shows where and when it runs.
  seeded: false,
  sharesState: "no",
});
export default environment;

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await checkSelf();

/** Two servers of one machine differ in their port. PORT=0 and no PORT leave it unknown. */
function hostUrl(port = "0"): string {
  return Number(port) > 0 ? `${hostname()}:${port}` : hostname();
}

/** In turns, because a timer of more than 31 bits fires at once. */
function wait(ms: number, done: () => void): void {
  if (ms <= LONGEST_TIMER_MS) setTimeout(done, ms);
  else setTimeout(wait, LONGEST_TIMER_MS, ms - LONGEST_TIMER_MS, done);
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
