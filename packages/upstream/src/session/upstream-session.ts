import { SessionLostError, ToolError } from "openenv-ts";
import { isObject, relaying } from "openenv-ts/internal";
import type { View } from "openenv-ts/protocol";
import type { FleetLog } from "../fleet/options.js";
import { Episode } from "./episode.js";
import { type OpenSession, openAgain } from "./open-session.js";

/** In the text of a message that calls a tool, which may change the episode. */
const TOOL_CALL = '"tools/call"';
/** One call moves this often to another upstream: when so many die in a row, the call may be what kills them. */
const MAX_MOVES = 3;

interface SessionOptions {
  /** The names of the tools of the upstream. */
  tools: readonly string[];
  /** Opens a session elsewhere, to make the episode again there; undefined if the upstream does not honour seeds. */
  reopen: ((hasViews: boolean) => Promise<OpenSession>) | undefined;
  /** The upstreams make views for clients that want them. */
  views: boolean;
  log: FleetLog;
}

/** The environment of a session whose messages an upstream answers. */
export class UpstreamSession implements relaying.Hosted, relaying.Relay {
  readonly [relaying.hosted] = true;
  readonly [relaying.relay] = this;
  readonly tools: Record<string, (input: object) => Promise<unknown>>;
  lost: string | undefined;
  readonly #reopen: SessionOptions["reopen"];
  readonly #log: FleetLog;
  readonly #episode: Episode | undefined;
  /** An upstream is asked for views when the session opens, so the first message decides. */
  #isDecided: boolean;
  #view: Partial<View> = {};
  #open: OpenSession;
  #onLost: ((reason: string) => void) | undefined;
  #isClosed = false;
  #calls = 0;

  constructor(open: OpenSession, { tools, reopen, views, log }: SessionOptions) {
    this.#reopen = reopen;
    this.#isDecided = !views;
    this.#log = log;
    this.#episode = reopen && new Episode();
    this.#open = open;
    this.tools = Object.fromEntries(tools.map((name) => [name, (input) => this.#callTool(name, input)]));
    this.#watch(open);
  }

  send(message: relaying.RelayedMessage): Promise<string> {
    const isPlain = this.#episode === undefined && message.type !== "reset" && this.#isDecided && !this.#open.hasViews;
    return isPlain ? this.#open.socket.ask(message.text) : this.#sendKept(message);
  }

  async #sendKept({ type, text, view = false }: relaying.RelayedMessage): Promise<string> {
    if (view && !this.#isDecided) {
      this.#open = await openAgain(this.#open);
      if (this.#isClosed) {
        await this.#open.socket.close();
        throw new SessionLostError("the session was closed");
      }
      this.#watch(this.#open);
    }
    this.#isDecided = true;
    const answer = this.#takeView(await this.#ask(text, type === "reset"));
    if (type === "reset") {
      this.#open.place.countEpisode();
      this.#episode?.begin(text, answer);
    } else if (type === "step" || text.includes(TOOL_CALL)) this.#episode?.add(text, answer);
    return answer;
  }

  onLost(listener: (reason: string) => void): void {
    if (this.lost !== undefined) listener(this.lost);
    else this.#onLost = listener;
  }

  /** Returns the answer without its view, which the server of the client checks and adds. */
  #takeView(answer: string): string {
    if (!this.#open.hasViews) return answer;
    const view = relaying.memberText(answer, "view");
    this.#view = view === undefined ? {} : (JSON.parse(view) as View);
    return view === undefined ? answer : `{"type":"observation","data":${relaying.memberText(answer, "data")}}`;
  }

  render(): View["parts"] {
    const { parts = [], problem } = this.#view;
    if (problem !== undefined) throw new Error(problem.replace(/^render: /, ""));
    return parts;
  }

  actions(): View["actions"] {
    return this.#view.actions ?? [];
  }

  /** Every environment has these; here the relay answers. */
  reset(): never {
    throw new Error("the upstream answers this call");
  }

  step(): never {
    return this.reset();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#leave();
  }

  /** Frees the place once the upstream has closed its side, because only then it has room again. */
  async #leave(): Promise<void> {
    const { socket, place } = this.#open;
    await socket.close();
    place[Symbol.dispose]();
  }

  #watch({ socket, place }: OpenSession): void {
    socket.onLost = (reason) => {
      place.suspect();
      // With seeds, the next message makes the episode again.
      if (this.#reopen === undefined) this.#lose(reason);
    };
  }

  #lose(reason: string): void {
    if (this.lost !== undefined || this.#isClosed) return;
    this.lost = reason;
    this.#onLost?.(reason);
  }

  async #ask(text: string, isReset: boolean): Promise<string> {
    for (let moves = 0; ; moves++) {
      try {
        return await this.#open.socket.ask(text);
      } catch (error) {
        const isLost = error instanceof SessionLostError && !this.#isClosed;
        if (!isLost || this.#reopen === undefined) throw error;
        if (moves === MAX_MOVES) throw new SessionLostError(`${error.reason}, as did ${moves} others during this call`);
        await this.#moveOn(error.reason, this.#reopen, isReset);
      }
    }
  }

  /**
   * Makes the episode again in another upstream; a reset needs none. When that one is lost, too, the next call finds it lost.
   * @throws SessionLostError where the episode cannot be made again.
   */
  async #moveOn(reason: string, reopen: NonNullable<SessionOptions["reopen"]>, isReset: boolean): Promise<void> {
    await this.#leave();
    const since = performance.now();
    let problem: string | undefined;
    try {
      this.#open = await reopen(this.#open.hasViews);
      if (this.#isClosed) await this.#leave();
      this.#watch(this.#open);
      problem = isReset
        ? undefined
        : await this.#episode?.replay(async (text) => this.#takeView(await this.#open.socket.ask(text)));
    } catch (error) {
      if (error instanceof SessionLostError) return;
      problem = (error as Error).message;
    }
    const { name } = this.#open.place.upstream;
    const ms = Math.round(performance.now() - since);
    if (problem === undefined) return this.#log.warn({ reason, ms }, `an episode was made again in ${name}`);
    throw new SessionLostError(`${reason}, and the episode could not be made again: ${problem}`);
  }

  async #callTool(name: string, given: object): Promise<unknown> {
    const params = { name, arguments: given };
    const request = { jsonrpc: "2.0", id: ++this.#calls, method: "tools/call", params };
    const text = await this.send({ type: "step", text: JSON.stringify({ type: "mcp", data: request }) });
    const { result, error } = readRpc(text);
    if (!isObject(error)) return isObject(result) && "data" in result ? result["data"] : result;
    const type = isObject(error["data"]) ? error["data"]["error_type"] : undefined;
    const known = relaying.TOOL_ERROR_TYPES.find((one) => one === type) ?? "execution_error";
    throw new ToolError(known, String(error["message"]));
  }
}

/** The JSON-RPC response in an `mcp` message. */
export function readRpc(text: string): { result?: unknown; error?: unknown } {
  const { data } = JSON.parse(text) as { data?: unknown };
  return isObject(data) ? data : {};
}
