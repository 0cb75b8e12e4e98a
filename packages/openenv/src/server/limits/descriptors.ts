import { DESCRIPTORS_AT_START } from "#parts/sockets";
import type { Runtime } from "../../session/runtime.js";
import { descriptorLimit } from "../../util/descriptor-limit.js";
import type { Config } from "../config/config.js";

/** Descriptors reserved for requests, and those reserved for the process itself. */
const FOR_REQUESTS = 24;
const FOR_PROCESS = 8;
/** The shortest time between two log lines. */
const QUIET_MS = 10_000;

const ADVICE = "raise the limit (ulimit -n) or lower MAX_CONCURRENT_ENVS";

/** Rejects connections while there are descriptors left for the answer: a failed accept reaches no client. */
export class Descriptors {
  /** Infinity when the limit is unknown. */
  readonly limit: number;
  readonly #runtime: Pick<Runtime, "log" | "statistics">;
  #refused = 0;
  #quiet: NodeJS.Timeout | undefined;

  constructor(runtime: Pick<Runtime, "log" | "statistics">, limit = descriptorLimit()) {
    this.#runtime = runtime;
    this.limit = limit;
  }

  /** Warns at the start if the limit is too low for the capacity of the server. */
  warn({ maxConcurrentEnvs, queueSize }: Pick<Config, "maxConcurrentEnvs" | "queueSize">): void {
    const needed = maxConcurrentEnvs + queueSize + DESCRIPTORS_AT_START + FOR_REQUESTS;
    if (this.limit >= needed) return;
    const fields = { limit: this.limit, needed, sessions: maxConcurrentEnvs, waiting: queueSize };
    this.#runtime.log.warn(fields, `the limit on file descriptors is too low for this many sessions: ${ADVICE}`);
  }

  /** True when there are too few descriptors for another session. `used` is the number of those in use. */
  areShort(used: number): boolean {
    return this.#reach(used, FOR_REQUESTS);
  }

  /** True when there are too few descriptors for a request. */
  areAlmostUsedUp(used: number): boolean {
    return this.#reach(used, FOR_PROCESS);
  }

  /** Counts and logs a rejected connection. */
  countRejection(error?: Error): void {
    this.#refused++;
    this.#runtime.statistics.countRejection("descriptors");
    if (this.#quiet === undefined) this.#log(error);
  }

  /** Logs how many connections were rejected since the last line, and stops the timer. */
  close(): void {
    if (this.#refused > 0) this.#log();
    clearTimeout(this.#quiet);
  }

  #reach(used: number, reserved: number): boolean {
    if (used < this.limit - reserved) return false;
    this.countRejection();
    return true;
  }

  #log(error?: Error): void {
    clearTimeout(this.#quiet);
    const fields = { limit: this.limit, refused: this.#refused, ...(error && { err: error }) };
    this.#runtime.log.error(fields, `out of file descriptors; rejecting connections: ${ADVICE}`);
    this.#refused = 0;
    this.#quiet = setTimeout(() => {
      this.#quiet = undefined;
      if (this.#refused > 0) this.#log();
    }, QUIET_MS);
    this.#quiet.unref();
  }
}
