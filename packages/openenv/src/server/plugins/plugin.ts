import type { IncomingHttpHeaders } from "node:http";
import type { Contract } from "../../contract/contract.js";
import type { ClientMessage, JsonObject, ServerMessage, WireCode } from "../../protocol/messages.js";
import type { ToolOutcome } from "../../protocol/tools.js";
import type { View } from "../../protocol/web.js";
import type { Principal, SessionOpener } from "../../session/attachable-session.js";
import type { SessionEvent } from "../../session/calls/session-event.js";
import type { CountsOf, MetricRow } from "../../session/statistics/metrics.js";
import type { Log } from "../../util/log.js";
import type { MaybePromise } from "../../util/types.js";
import type { Setting } from "../config/setting.js";

// biome-ignore lint/suspicious/noConfusingVoidType: a hook without a return statement returns this.
type Nothing = undefined | void;

/**
 * Extends a server: it decides who may use it, observes sessions, and adds routes, settings and metrics. With several
 * workers it runs in each of them, except for `central`. A hook that takes longer than 5 s has failed.
 */
export interface ServerPlugin<S extends PluginSettings = PluginSettings, M extends PluginMetrics = PluginMetrics> {
  /** Lower-case letters, digits and hyphens. It begins the names of settings and is in errors, the log and metrics. */
  readonly name: string;
  /** Its settings, read at the start from `OPENENV_<PLUGIN>_<SETTING>`. */
  readonly settings?: S;
  /** What it counts, for `GET /metrics`. Names end like those of Prometheus and do not begin with `openenv_`. */
  readonly metrics?: M;
  /**
   * Called for requests and WebSocket handshakes, before the server looks for the session. A principal is a client of
   * the server, whatever tokens it sent; undefined leaves the decision to the next plugin, and at last to the tokens.
   */
  authorize?(request: AuthorizeRequest, server: ServerHandle<S, M>): MaybePromise<Principal | PluginRefusal | Nothing>;
  /**
   * Called before a session takes a slot and its factory runs. What it returns is disposed of once, when the session has
   * ended or could not open. A session that is restored is never refused: a refusal then only means that nothing is held.
   */
  admit?(opener: Opener, server: ServerHandle<S, M>): MaybePromise<PluginRefusal | Disposable | Nothing>;
  /**
   * Routes by path, such as `/reports`, or `/reports/*` for all paths below it. A path of the server itself stops the start.
   */
  readonly routes?: Readonly<Record<string, PluginRoute<S, M>>>;
  /** Called for each session when it opens, also for one that is restored. It has no time to wait for a promise. */
  session?(session: SessionHandle, opener: Opener, server: ServerHandle<S, M>): PluginHooks | Nothing;
  /**
   * Called before the server listens, without a limit of time. What it returns is disposed of when the server stops. An
   * error stops the start.
   */
  start?(server: ServerHandle<S, M>): MaybePromise<AsyncDisposable | Nothing>;
  /**
   * Called once for each server, with several workers in the process that supervises them: it has what workers share.
   * `ServerHandle.ask` sends it messages. The call has no limit of time, its answers have.
   */
  central?(log: Log): MaybePromise<PluginCentral>;
}

/** The head of a request. */
export interface AuthorizeRequest {
  /** `GET` for a WebSocket handshake. */
  readonly method: string;
  /** The path with its query, as it was sent: `%61` may stand for `a`. */
  readonly url: string;
  readonly headers: Readonly<IncomingHttpHeaders>;
  /** The address of the peer, which may be a proxy. */
  readonly address: string;
  /** No token is needed: a probe such as `/health`, a file of the page, or a route with `access: "open"`. */
  readonly isOpen: boolean;
}

/** A refusal of a request. The peer gets the code and the message, over HTTP with the status of the code. */
export interface PluginRefusal {
  /** A code of the table of errors, such as `UNAUTHORIZED`, `FORBIDDEN` or `CAPACITY_REACHED`. */
  readonly code: WireCode;
  /** What is wrong, then what to do. */
  readonly message: string;
}

/** The peer that opens a session. */
export interface Opener {
  readonly client: SessionOpener["client"];
  /** What `authorize` of a plugin returned for the request that opens the session. */
  readonly principal: Principal | undefined;
  /** Another process had the session. */
  readonly isRestored: boolean;
  /** The header `traceparent` of the request that opens the session (W3C), as it was sent. */
  readonly traceparent: string | undefined;
}

/** A request to a session. */
export interface PluginRequest {
  /** `reset`, `step`, `state` or `tool`. */
  readonly type: Exclude<ClientMessage["type"], "mcp" | "close"> | "tool";
  /** The options of the reset, the action, or `name` and `arguments` of the tool call. Read it; do not change it. */
  readonly data: Readonly<JsonObject>;
  /** The header `traceparent` of the HTTP request, or that in `_meta` of a JSON-RPC request, as it was sent. */
  readonly traceparent?: string | undefined;
}

/** What a request to a session answers: a message of `/ws`, or the outcome of a tool call. Read it; do not change it. */
export type PluginAnswer = ServerMessage | ToolOutcome;

/** What a plugin does in one session. If all hooks are synchronous, so is a synchronous step. */
export interface PluginHooks {
  /**
   * Called when a request arrives, before its turn, which it takes when `next` is called. Calls `next` once and returns its
   * result, or returns a refusal without calling it. An error before `next` refuses the request with `PLUGIN_FAILED`; after
   * `next` it is counted and logged.
   */
  around?(request: PluginRequest, next: () => MaybePromise<PluginAnswer>): MaybePromise<PluginAnswer | PluginRefusal>;
  /**
   * Called after each reset, step and tool call that reached the environment, before its answer leaves. The event is a
   * copy, unless all plugins that record are `brief`. An error is counted and logged, and the answer is sent.
   */
  record?(event: SessionEvent, notes: EventNotes): MaybePromise<void>;
  /** The notes of `record` have what the environment's `render` makes of each observation, if it has one. */
  readonly views?: boolean;
  /** `record` is done with the event when it returns, and does not change it: no copy is made for it. */
  readonly brief?: boolean;
  /** An error of `record` loses the session: its client gets `SESSION_LOST` with the reason instead of the answer. */
  readonly mustRecord?: boolean;
  /**
   * A commit of the session to its store has succeeded, which began at `since`, by `performance.now()`. Not called for the
   * sessions of a batch, which are committed together.
   */
  committed?(since: number): void;
  /** The session waits for its client without a connection. */
  detached?(): void;
  /** The session has ended, or did not open because a later plugin failed. A call that still runs is recorded after it. */
  ended?(reason: string): void;
}

/** What a recorder learns about an event that is not a part of it: it differs when the event is played again. */
export interface EventNotes {
  /** Milliseconds from the start of the call to its answer. */
  readonly ms: number;
  /** Set with `views`. */
  readonly view?: View | undefined;
}

/** An open session. */
export interface SessionHandle {
  /** The whole id, which gives access to the session: keep it out of logs. */
  readonly id: string;
  /** The first characters of the id, as in the log of the server. */
  readonly label: string;
  /** A public name, which opens nothing. */
  readonly handle: string;
  readonly client: SessionOpener["client"];
  /** The peer that opened the session, also while another one uses it. */
  readonly principal: Principal | undefined;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Null until the first reset. */
  readonly episodeId: string | null;
  /** The steps of the episode. */
  readonly steps: number;
  /** The sum of the rewards of the episode. */
  readonly reward: number;
  /** The episode has ended. */
  readonly done: boolean;
  /** Milliseconds that the call in flight has taken so far; null when none is. */
  readonly busyMs: number | null;
  /** Ends the session. Its client gets the reason. Before its environment exists it has no effect. */
  end(reason: string): void;
}

/** A session that a plugin has opened. It counts for the capacity until `end`. */
export interface PlayedSession extends SessionHandle {
  /** Performs a reset, a step or a tool call as an orchestrator, and resolves with its answer, which may be an error. */
  play(event: Pick<SessionEvent, "type" | "request">): Promise<PluginAnswer>;
}

/** The server of a plugin, in one process. */
export interface ServerHandle<S extends PluginSettings = PluginSettings, M extends PluginMetrics = PluginMetrics> {
  /** The name of the environment. */
  readonly environment: string;
  readonly contract: Contract;
  readonly mode: "simulation" | "production";
  /** The number of this worker; 0 without workers. */
  readonly worker: number;
  /** The values of the plugin's settings. */
  readonly settings: SettingValues<S>;
  /** The counts of the plugin's metrics: `server.metrics.audit_lines_total++`. */
  readonly metrics: CountsOf<M>;
  /** The server's log. Each line names the plugin. */
  readonly log: Log;
  /** Aborted when the server stops. */
  readonly signal: AbortSignal;
  /** The open sessions of this process. */
  sessions(): SessionHandle[];
  /** Shows a step that took so many milliseconds, with its trace, in `openenv_step_duration_seconds` (OpenMetrics). */
  exemplify(ms: number, labels: { trace_id: string; span_id: string }): void;
  /**
   * Opens a session in this process, without waiting for a place. Hooks get the principal as that of its opener.
   * @throws OpenEnvError (CAPACITY_REACHED, FACTORY_ERROR, or what a plugin refuses with), as a rejection.
   */
  open(principal?: Principal): Promise<PlayedSession>;
  /**
   * Sends a copy of a message in JSON to `central` of this plugin, and resolves with a copy of its answer.
   * @throws OpenEnvError (PLUGIN_FAILED), as a rejection, when one of them is not JSON, or `central` fails or does not answer
   *   within 5 s.
   */
  ask(message: unknown): Promise<unknown>;
}

/** What the workers of a server share, in the process that supervises them. */
export interface PluginCentral extends Partial<AsyncDisposable> {
  /** Answers a message of a worker. Both are JSON; undefined becomes null. */
  answer(message: unknown, worker: number): unknown;
  /** A worker has ended, with all its sessions. No message of it comes later. */
  workerEnded?(worker: number): void;
}

/** A route: a handler for each method, with the classes of `fetch`. */
export interface PluginRoute<S extends PluginSettings = PluginSettings, M extends PluginMetrics = PluginMetrics> {
  GET?(request: Request, call: RouteCall<S, M>): MaybePromise<Response>;
  POST?(request: Request, call: RouteCall<S, M>): MaybePromise<Response>;
  DELETE?(request: Request, call: RouteCall<S, M>): MaybePromise<Response>;
  /**
   * Who may call it, or each method of it: `client`, the default, with the client token if there is one; `operator`;
   * `viewer`, who may read rollouts; or `open` to any peer.
   */
  readonly access?: PluginAccess | { readonly [M in "GET" | "POST" | "DELETE"]?: PluginAccess };
}

export type PluginAccess = "open" | "client" | "operator" | "viewer";

/** What a route gets in addition to its request. */
export interface RouteCall<S extends PluginSettings = PluginSettings, M extends PluginMetrics = PluginMetrics> {
  readonly principal: Principal | undefined;
  readonly server: ServerHandle<S, M>;
}

/** A setting of a plugin. */
export type PluginSetting = Pick<Setting<unknown, unknown, never>, "kind" | "mayBeFile"> & {
  /** The default; without one the value may be undefined. */
  readonly fallback?: unknown;
};
export type PluginSettings = Readonly<Record<string, PluginSetting>>;
/** The value of each setting. */
export type SettingValues<S extends PluginSettings> = {
  readonly [K in keyof S]:
    | (S[K]["kind"] extends { parse(given: never): infer T } ? Exclude<T, undefined> : never)
    | (S[K] extends { fallback: infer F } ? F : undefined);
};
export type PluginMetrics = Readonly<Record<string, MetricRow>>;

/** Gives the hooks of a plugin the types of its settings and metrics. Returns the same object. */
export function definePlugin<const S extends PluginSettings, const M extends PluginMetrics>(
  plugin: ServerPlugin<S, M>,
): ServerPlugin {
  return plugin as unknown as ServerPlugin;
}
