import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ServeOptions } from "openenv-ts/server";
import { findServed } from "../environments.js";
import type { StagedServer, Starter } from "../replay/stage.js";

/** Recorded; the package looks for idle sessions every five seconds. */
const SESSION_TIMEOUT_S = 2;
const IDLE_MS = 13_000;

interface Reply {
  id: number;
  error?: string;
  [more: string]: unknown;
}

export interface PythonServer extends StagedServer {
  /** What clients sent and were answered, as `server_saw` of a transcript; waits until they have left. */
  traffic(): Promise<Record<string, unknown>[]>;
  /** Plays a recorded case of the Python clients: what its calls returned or raised. */
  playClient(name: string): Promise<unknown>;
}

/** Starts servers of the Python package, all in one process, because its import takes seconds. */
export class PythonServers implements Starter<PythonServer>, AsyncDisposable {
  readonly idleMs = IDLE_MS;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #sent = 0;
  #errors = "";
  /** Whether the process has ended: nothing more can be played. */
  ended = false;

  constructor(python: string) {
    this.#child = spawn(python, [join(import.meta.dirname, "servers.py")]);
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#errors += text));
    this.#child.stdin?.on("error", () => {});
    this.#child.on("error", (error) => (this.#errors += error.message));
    this.#child.on("close", () => {
      this.ended = true;
      for (const id of this.#waiting.keys()) this.#settle({ id, error: this.#errors });
    });
    if (this.#child.stdout) createInterface(this.#child.stdout).on("line", (line) => this.#settle(JSON.parse(line)));
  }

  async start(name: string, options: ServeOptions): Promise<PythonServer> {
    const { maxConcurrentEnvs, sessionTimeout, mode, webInterface, pingIntervalMs } = {
      ...findServed(name).options,
      ...options,
    };
    const { url } = await this.#send("start", name, {
      capacity: maxConcurrentEnvs,
      timeout: sessionTimeout == null ? null : Math.max(sessionTimeout, SESSION_TIMEOUT_S),
      mode: mode ?? "simulation",
      web: webInterface ?? false,
      ping: pingIntervalMs === undefined ? null : pingIntervalMs / 1_000,
    });
    const counts = async (): Promise<{ active: number; attached: number }> =>
      (await this.#send("counts", url)) as Reply & { active: number; attached: number };
    let stopped: Promise<unknown> | undefined;
    return {
      url: url as string,
      capacity: async () => ({ active_sessions: (await counts()).active }),
      sessions: async () => Array.from({ length: (await counts()).attached }, () => ({ attached: true })),
      traffic: async () => (await this.#send("traffic", url))["seen"] as Record<string, unknown>[],
      playClient: async (client) => (await this.#send("play", client, url))["results"],
      close: async () => void (await (stopped ??= this.#send("stop", url))),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.ended) return;
    const closed = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await closed;
  }

  #send(command: string, argument: unknown, options?: unknown): Promise<Reply> {
    const id = ++this.#sent;
    return new Promise((resolve, reject) => {
      const settle = (reply: Reply): void => {
        if (reply.error === undefined) resolve(reply);
        else reject(new Error(`The Python servers failed at ${command}: ${reply.error}`));
      };
      if (this.ended) return settle({ id, error: this.#errors });
      this.#waiting.set(id, settle);
      this.#child.stdin?.write(`${JSON.stringify({ id, [command]: argument, options })}\n`);
    });
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    waiting?.(reply);
  }
}
