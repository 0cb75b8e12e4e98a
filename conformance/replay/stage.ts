import { setTimeout as sleep } from "node:timers/promises";
import { type RunningServer, type ServeOptions, serve } from "openenv-ts/server";
import { findServed, SHORT } from "../environments.js";
import { Ids } from "./ids.js";
import { playHttp } from "./play-http.js";
import { openSocket, PATIENCE_MS, type ReplaySocket } from "./socket.js";

const POLL_MS = 5;

/** What a case needs of a server, which is ours or the reference. */
export interface StagedServer {
  readonly url: string;
  capacity(): { active_sessions: number } | Promise<{ active_sessions: number }>;
  sessions(): Promise<readonly { attached: boolean }[]>;
  close(): Promise<void>;
}

/** How a server for a case is started. */
export interface Starter<Server extends StagedServer = StagedServer> {
  /** Serves an environment of environments.ts with these options over its own. */
  start(name: string, options: ServeOptions): Promise<Server>;
  /** Milliseconds after which an idle session is gone, where the environment has a session timeout. */
  readonly idleMs: number;
}

/** Starts our server. */
export const OURS: Starter<RunningServer> = {
  idleMs: 3 * SHORT * 1_000,
  start(name, options) {
    const { environment, options: own } = findServed(name);
    const quiet = { host: "127.0.0.1", port: 0, logLevel: "silent" } as const;
    return serve(environment, { webInterface: false, ...own, ...quiet, ...options });
  },
};

/** A fresh server for one case, and what the case finds there: open sockets, sessions. */
export class Stage<Server extends StagedServer = StagedServer> implements AsyncDisposable {
  readonly server: Server;
  readonly idleMs: number;
  readonly ids = new Ids();
  readonly #held: ReplaySocket[] = [];

  private constructor(server: Server, idleMs: number) {
    this.server = server;
    this.idleMs = idleMs;
  }

  /** With our server. */
  static open(name: string, options: ServeOptions = {}): Promise<Stage<RunningServer>> {
    return Stage.openWith(OURS, name, options);
  }

  static async openWith<Server extends StagedServer>(
    starter: Starter<Server>,
    name: string,
    options: ServeOptions = {},
  ): Promise<Stage<Server>> {
    return new Stage(await starter.start(name, options), starter.idleMs);
  }

  get url(): string {
    return this.server.url;
  }

  /** Opens a socket that stays open until the end of the case. */
  async hold(path = "/ws"): Promise<ReplaySocket> {
    const before = await this.#countHeld();
    const { socket } = await openSocket(`${this.url}${this.ids.apply(path)}`);
    this.#held.push(socket);
    await this.until(async () => (await this.#countHeld()) > before);
    return socket;
  }

  async countActive(): Promise<number> {
    return (await this.server.capacity()).active_sessions;
  }

  /** Grows with a session and with a socket at one; the reference says of no session whether it was opened by a socket. */
  async #countHeld(): Promise<number> {
    const attached = (await this.server.sessions()).filter((session) => session.attached);
    return attached.length + (await this.countActive());
  }

  /** Opens a session over HTTP, which from now on stands for the recorded id. */
  async createSession(recorded: string): Promise<void> {
    const { result } = await this.rpc("openenv/session/create");
    this.ids.set(recorded, (result as { session_id: string }).session_id);
  }

  async rpc(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const body = this.ids.apply({ jsonrpc: "2.0", id: 1, method, params });
    const { response } = await playHttp({ case: method, env: "", path: "/mcp", method: "POST", body }, this.url);
    return response as Record<string, unknown>;
  }

  /** Waits until the server has reached a state. */
  async until(reached: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    while (!(await reached())) {
      if (Date.now() > deadline)
        throw new Error(`the server did not reach the expected state within ${PATIENCE_MS / 1_000} s`);
      await sleep(POLL_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#held) await socket.close();
    await this.server.close();
  }
}
