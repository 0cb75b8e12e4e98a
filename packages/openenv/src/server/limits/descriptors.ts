import type { Socket } from "node:net";
import type { Runtime } from "../../session/runtime.js";
import { descriptorLimit } from "../../util/descriptor-limit.js";
import type { Config } from "../config/config.js";

/** Descriptors that sessions leave to requests, and those that every connection leaves to the process itself. */
const FOR_REQUESTS = 24;
const FOR_PROCESS = 8;
/** What a process that serves has open before its first connection. */
const AT_START = 28;
/** A line at most so often. */
const QUIET_MS = 10_000;

const ADVICE = "raise the limit (ulimit -n) or lower MAX_CONCURRENT_ENVS";

/**
 * Refuses connections while descriptors are left to do it with: an accept that fails tells nobody. A process is given
 * the lowest number that is free, so that the number of a new socket says how many are taken.
 */
export class Descriptors {
  /** Infinity when nothing says so. */
  readonly limit: number;
  readonly #runtime: Pick<Runtime, "log" | "statistics">;
  #refused = 0;
  #quiet: NodeJS.Timeout | undefined;

  constructor(runtime: Pick<Runtime, "log" | "statistics">, limit = descriptorLimit()) {
    this.#runtime = runtime;
    this.limit = limit;
  }

  /** Says at the start when there are too few for what the server is to hold. */
  warn({ maxConcurrentEnvs, queueSize }: Pick<Config, "maxConcurrentEnvs" | "queueSize">): void {
    const needed = maxConcurrentEnvs + queueSize + AT_START + FOR_REQUESTS;
    if (this.limit >= needed) return;
    const fields = { limit: this.limit, needed, sessions: maxConcurrentEnvs, waiting: queueSize };
    this.#runtime.log.warn(fields, `fewer file descriptors than sessions on sockets of their own need: ${ADVICE}`);
  }

  /** True when too few are left for another session. */
  areShort(socket: object): boolean {
    return this.#takes(socket, FOR_REQUESTS);
  }

  /** Closes a new connection when next to none are left. */
  guard(socket: Socket): void {
    if (this.#takes(socket, FOR_PROCESS)) socket.destroy();
  }

  /** One more connection was refused. */
  tell(error?: Error): void {
    this.#refused++;
    this.#runtime.statistics.countRejection("descriptors");
    if (this.#quiet === undefined) this.#say(error);
  }

  /** Says how many were refused since the last line, which no timer does any more. */
  close(): void {
    if (this.#refused > 0) this.#say();
    clearTimeout(this.#quiet);
  }

  #takes(socket: object, reserved: number): boolean {
    // No public property has it. It is -1 where sockets have no such number.
    const { fd = -1 } = (socket as { _handle?: { fd?: number } })._handle ?? {};
    if (fd < this.limit - reserved) return false;
    this.tell();
    return true;
  }

  #say(error?: Error): void {
    clearTimeout(this.#quiet);
    const fields = { limit: this.limit, refused: this.#refused, ...(error && { err: error }) };
    this.#runtime.log.error(fields, `out of file descriptors, connections are refused: ${ADVICE}`);
    this.#refused = 0;
    this.#quiet = setTimeout(() => {
      this.#quiet = undefined;
      if (this.#refused > 0) this.#say();
    }, QUIET_MS);
    this.#quiet.unref();
  }
}
