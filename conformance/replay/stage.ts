import { setTimeout as sleep } from "node:timers/promises";
import { type RunningServer, type ServeOptions, serve } from "openenv-ts/server";
import { ENVIRONMENTS } from "../environments.js";
import { Ids } from "./ids.js";
import { playHttp } from "./play-http.js";
import { openSocket, PATIENCE_MS, type ReplaySocket } from "./socket.js";

const POLL_MS = 5;

/** A fresh server for one case, and what the case finds there: open sockets, sessions. */
export class Stage implements AsyncDisposable {
  readonly server: RunningServer;
  readonly ids = new Ids();
  readonly #held: ReplaySocket[] = [];

  private constructor(server: RunningServer) {
    this.server = server;
  }

  static async open(name: string, options: ServeOptions = {}): Promise<Stage> {
    const served = ENVIRONMENTS[name];
    if (served === undefined) throw new Error(`environments.ts has no "${name}"`);
    const quiet = { host: "127.0.0.1", port: 0, logLevel: "silent" } as const;
    return new Stage(await serve(served.environment, { webInterface: false, ...served.options, ...quiet, ...options }));
  }

  get url(): string {
    return this.server.url;
  }

  /** Opens a socket that stays for the rest of the case. */
  async hold(path = "/ws"): Promise<ReplaySocket> {
    const attached = async () => (await this.server.sessions()).filter((session) => session.attached).length;
    const before = await attached();
    const { socket } = await openSocket(`${this.url}${this.ids.apply(path)}`);
    this.#held.push(socket);
    await this.until(async () => (await attached()) > before);
    return socket;
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

  /** Waits for what the server does in its own time. */
  async until(reached: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    while (!(await reached())) {
      if (Date.now() > deadline) throw new Error(`the server did not get there within ${PATIENCE_MS / 1_000} s`);
      await sleep(POLL_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#held) await socket.close();
    await this.server.close();
  }
}
