import type { Fault } from "../errors.js";
import type { JsonObject, WireCode } from "./messages.js";
import type { ServerCapacityStatus, SessionInfo } from "./published.js";

/** The query key of `/ws` that requests views: `?view=1`. The first answer confirms `view` among its extensions. */
export const VIEW_KEY = "view";

/** The most of the latest errors that `GET /web/server` lists. */
export const MAX_REPORTED_ERRORS = 50;

/** What a piece of text means. The text must also say it in words. */
export const TONES = ["positive", "caution", "neutral", "negative"] as const;
export type TextTone = (typeof TONES)[number];

/** A piece of text; line breaks in it are kept, markup in it is text. */
export interface TextSpan {
  text: string;
  tone?: TextTone;
  /** True for a monospaced font. */
  mono?: boolean;
}

/** One part of a view: marked text, or an image as a data URL with its alternative text. */
export type ViewPart = { kind: "text"; runs: TextSpan[] } | { kind: "image"; src: string; alt: string };

/** A button that takes a step: `action` is `step.data` of the wire. */
export interface ViewAction {
  label: string;
  action: JsonObject;
}

/** Next to `type` and `data` in every `observation` frame on a socket that requested views. */
export interface View {
  /** The result of the author's `render`; empty without one. */
  parts: ViewPart[];
  /** The result of the author's `actions`; empty without one. */
  actions: ViewAction[];
  /** Why `render` or `actions` failed or its result is not a view. The step itself is not affected. */
  problem?: string;
}

/** `GET /web/info`: what the page needs when it starts. */
export interface WebInfo {
  /** The version of this package. */
  server_version: string;
  mode: "simulation" | "production";
  /** Reset, step and state need the orchestrator's token, which a page cannot send. */
  guarded: boolean;
  name: string;
  description: string;
  /** The version of the contract. */
  version: string | null;
  author: string | null;
  documentation_url: string | null;
  readme: string | null;
  /** The server has a report of a validation: `GET /web/report`. */
  report: boolean;
  /** The environment declares tools. With `tools_only` every step is a tool call. */
  tools: boolean;
  tools_only: boolean;
  /** The environment has tasks: reset takes `split` and `index`. */
  tasks: boolean;
  /** JSON Schema (an object) of the contract's own reset options; null without any. */
  reset_options: JsonObject | null;
  /** True when a step before any reset is answered. */
  step_before_reset: boolean;
  /** Why sessions cannot be copied; null where they can, and where no session has shown it yet. */
  fork_problem: string | null;
  capacity: ServerCapacityStatus;
  /** Largest frame that is accepted, bytes. */
  max_message_bytes: number;
  /** The server records episodes: it has `/rollouts`. */
  rollouts: boolean;
  /** The server has an operator's token; without one `GET /web/server` is closed. */
  has_operator: boolean;
  /** This request has the rights of an operator. */
  is_operator: boolean;
  /** `owner/name` on Hugging Face Spaces, else null. */
  space_id: string | null;
}

/** One session as the server view lists it. */
export interface ServerViewSession extends SessionInfo {
  /** The kind of connection of its client. */
  client: "websocket" | "batch" | "http" | "mcp" | "plugin";
  /**
   * What it is doing. `slow`: its call takes longer than a step should. `detached`: it waits for its client, which lost
   * the connection.
   */
  state: "slow" | "stepping" | "detached" | "idle";
  /** Seconds the call in flight has taken so far; null when none is. */
  busy_s: number | null;
  /** Seconds since a resumable session lost its connection; null for any other. */
  detached_s: number | null;
  /** Resets that succeeded. */
  episodes: number;
  /** Steps of all its episodes. */
  steps: number;
  /** The sum of the rewards in this episode, and whether it has ended. */
  reward: number;
  done: boolean;
  /** Steps of this episode that failed through no fault of the agent. */
  failed_steps: number;
  /** The seed and the task of this episode as far as its reset named them; null when they are not known. */
  task: { seed?: number | undefined; split?: string | undefined; index?: number | undefined } | null;
  worker: number;
}

export interface ServerViewListedSession extends ServerViewSession {
  /** Its public name, which opens nothing: the page has it at `#/session/<handle>`. */
  handle: string;
}

/** One process that serves. */
export interface ServerViewWorker {
  /** Its number; 0 for a server without workers. */
  worker: number;
  pid: number;
  /** Seconds. */
  uptime_s: number;
  sessions: number;
  /** The number of those that may end to make room for another: their clients have not used them yet. */
  unclaimed: number;
  max_sessions: number;
  waiting: number;
  steps: number;
  /** The rate over the last second. */
  steps_per_second: number;
  /** CPU seconds used since it started, and the share of one core over the last second (0 to 1, more with threads). */
  cpu_s: number;
  cpu_share: number;
  /** Resident memory, bytes. */
  rss_bytes: number;
  /** Milliseconds that the event loop was late at most 99 times in 100 over the last second. */
  loop_lag_ms: number;
  /** WebSockets that are open. */
  sockets: number;
  /** File descriptors that are open, null where the system does not report them, and their limit. */
  descriptors: number | null;
  max_descriptors: number | null;
}

/** A worker that has not answered for a second: a call blocks its process. Its sessions are not listed. */
export interface ServerViewSilentWorker {
  worker: number;
  pid: number;
  /** The number that it reported last. */
  sessions: number;
  max_sessions: number;
  /** Seconds since it was last heard from. */
  silent_s: number;
}

/** An error that was sent to a client, or a worker that was lost (`WORKER_LOST`). */
export interface ServerViewError {
  /** Unix seconds. */
  at: number;
  code: WireCode | "WORKER_LOST";
  fault: Fault;
  message: string;
  worker: number;
  session_id: string | null;
  /** The step of the episode after which it happened. */
  step: number | null;
}

/** Errors with the same code whose messages differ only by numbers and names. */
export interface ServerViewFailure {
  code: ServerViewError["code"];
  /** The message with `#` for numbers and `…` for names. */
  message: string;
  /** Since the start. */
  count: number;
  /** The latest one: Unix seconds, its session and step, its own message. */
  at: number;
  worker: number;
  session_id: string | null;
  step: number | null;
  example: string;
}

/** `GET /web/server`, for operators. Counts are since the start of the processes that are running. */
export interface ServerView {
  /** Unix seconds of this snapshot. */
  at: number;
  server_version: string;
  /** The name and the version of the contract. */
  name: string;
  version: string;
  mode: "simulation" | "production";
  /** Seconds since the first worker that runs was started. */
  uptime_s: number;
  draining: boolean;
  /** An operator has paused the server. */
  paused: boolean;
  journal: "off" | "ok" | "unavailable";
  capacity: ServerCapacityStatus;
  /** Sessions in use and peers that wait: those that a drain waits for. Abandoned HTTP sessions do not count. */
  in_use: number;
  /** Sessions with a call in flight or one within the last second. */
  stepping: number;
  /** Peers that wait for a session, and how many may. */
  waiting: number;
  queue_size: number;
  steps: number;
  steps_per_second: number;
  /**
   * Milliseconds from the start of a step to its answer, without the wire, over the last ten seconds; null when nothing
   * stepped. Read from buckets: off by at most a quarter.
   */
  latency_ms: { p50: number; p99: number } | null;
  /** Errors that were sent to clients, by code; only codes that occurred. */
  errors: Partial<Record<WireCode, number>>;
  /** The newest first, at most 50. */
  recent_errors: ServerViewError[];
  /** The most frequent first, at most 50. */
  failures: ServerViewFailure[];
  /** The number of errors in each of the last sixty minutes, the oldest first. */
  errors_by_minute: number[];
  workers: ServerViewWorker[];
  /** Workers that do not answer. `capacity` counts their places and sessions; all other numbers are without them. */
  silent_workers: ServerViewSilentWorker[];
  /** Workers that were lost and replaced since the server was started. */
  restarts: number;
  /** The first of those that match `?find=`, sorted by `?sort=` and `?order=`; `?limit=` of them, 200 by default, at most 1,000, after the first `?offset=`. */
  sessions: ServerViewListedSession[];
  /** The number of those that match; `capacity` has the number of all. */
  found_sessions: number;
  limits: {
    /** Seconds without a request after which a session without a socket ends; null for never. */
    session_timeout_s: number | null;
    /** Seconds of a call of an isolated session; null for no limit. */
    step_timeout_s: number | null;
    max_message_bytes: number;
    queue_timeout_s: number;
  };
}
