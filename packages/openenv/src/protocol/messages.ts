import { FAULT_OF, type Fault, type ValidationIssue } from "../errors.js";

/** The codes of `error` frames; all are in the table of `errors.ts`. */
export type WireCode =
  | "INVALID_JSON"
  | "UNKNOWN_TYPE"
  | "VALIDATION_ERROR"
  | "EXECUTION_ERROR"
  | "TIMEOUT"
  | "CANCELLED"
  | "ISOLATE_LOST"
  | "SESSION_LOST"
  | "CAPACITY_REACHED"
  | "FACTORY_ERROR"
  | "SESSION_ERROR"
  | "SESSION_IN_USE"
  | "UNAUTHORIZED"
  | "FORBIDDEN"
  | "SEQUENCE_CONFLICT"
  | "SEQUENCE_GAP"
  | "SEQUENCE_OVERFLOW"
  | "ANSWER_EXPIRED"
  | "NOT_RESTORABLE"
  | "EVENT_NOT_KEPT"
  | "SNAPSHOT_FAILED"
  | "SNAPSHOT_MISMATCH"
  | "RESTORE_FAILED"
  | "STEP_CRASHED"
  | "SESSION_ELSEWHERE"
  | "RESET_ELSEWHERE"
  | "JOURNAL_UNAVAILABLE"
  | "PLUGIN_FAILED";

export type JsonObject = Record<string, unknown>;

/** Frames that a client sends on `/ws`, one JSON object each. `step.data` is the action. */
export type ClientMessage =
  | { type: "reset"; data?: JsonObject }
  | { type: "step"; data: JsonObject }
  | { type: "state" }
  | { type: "close" }
  | { type: "mcp"; data: JsonObject };

/** For each of these frames, whether it has `data`, and the type of its answer, unless that is an error. */
export const FRAMES = {
  reset: { data: "optional", answer: "observation" },
  step: { data: "required", answer: "observation" },
  mcp: { data: "required", answer: "mcp" },
  state: { data: "none", answer: "state" },
  close: { data: "none", answer: undefined },
} as const satisfies Record<ClientMessage["type"], { data: string; answer: ServerMessage["type"] | undefined }>;

/** The answer to a reset or a step. `metadata` is in `observation`, and repeated here when it is not empty. */
export interface ObservationData {
  observation: JsonObject;
  reward: number | boolean | null;
  done: boolean;
  metadata?: JsonObject;
}

export interface ErrorData {
  message: string;
  code: WireCode;
  /** Who caused it; Python clients ignore it. */
  fault: Fault;
  /** More precise than `code`, which the Python package defines; Python clients ignore it. */
  openenv_code?: "NO_EPISODE" | "EPISODE_DONE";
  errors?: ValidationIssue[];
  active_sessions?: number;
  max_sessions?: number;
  factory_name?: string;
  /** The number of the session in a batch, and of the step in its episode; 0 for a reset, which begins one. */
  session?: number;
  step?: number;
}

/** The data of an error. `fault` is that of the code, unless `more` has another one. */
export function errorData(code: WireCode, message: string, more: Partial<ErrorData> = {}): ErrorData {
  return { message, code, fault: FAULT_OF[more.openenv_code ?? code], ...more };
}

/**
 * Frames that the server sends: one for each client frame except `close`, in order, and no unsolicited frames.
 * `event`: in a resumable session or with `view`, the number of the event that the request was.
 */
export type ServerMessage =
  | { type: "observation"; data: ObservationData; event?: number }
  | { type: "state"; data: JsonObject }
  | { type: "error"; data: ErrorData; event?: number }
  | { type: "mcp"; data: JsonObject };

/**
 * The answer to the first frame on a socket with the extension `resume`. A client that begins sends
 * `{ type: "resume", data: { token_hash } }`, one that returns to its session (`session_id` in the query)
 * `{ type: "resume", data: { token } }`. After `recovered: false` for a session that was named, the server closes.
 */
export interface ResumedMessage {
  type: "resumed";
  data: {
    session_id: string;
    /** False for a new session, and for one that cannot be resumed, with the `reason`. */
    recovered: boolean;
    reason?: string;
    /** The last request that was executed; 0 for none. */
    last_seq: number;
    /** Seconds that the session is kept without a connection while there is room; null for no limit. */
    window_s: number | null;
    /** Maximum number of answers without `ack`. */
    max_unacknowledged: number;
  };
}

/**
 * The answer to `{ type: "fork", data: { count, event?, rng? } }` of the extension `view`. The copies of the session
 * wait for sockets that resume them.
 */
export interface ForkedMessage {
  type: "forked";
  data: { event: number; sessions: { session_id: string; token: string }[] };
}

/** Close codes. They report what happened to a session, because unsolicited frames are not allowed. */
export const CLOSE_CODES = {
  normal: 1000,
  /** More messages wait for their answers than the server may hold. */
  policy: 1008,
  tooLarge: 1009,
  noPong: 1011,
  restart: 1012,
  /** The server is low on memory. */
  overloaded: 1013,
  /** The server ended the session: it timed out, or an operator closed it. */
  sessionEnded: 4000,
  /** Another connection has resumed the session. */
  resumedElsewhere: 4001,
} as const;

/** The WebSocket subprotocol that the server selects when a page offers it together with its token. */
export const SUBPROTOCOL = "openenv";
/** Prefix of an offered subprotocol that carries a token: the base64url form of the token's UTF-8 bytes follows. */
export const TOKEN_SUBPROTOCOL = "openenv-token.";

/** The query key that negotiates extensions on `/ws`; servers without extensions ignore it. */
export const EXTENSIONS_KEY = "openenv";
/**
 * `warnings`: ignored reset options are reported. `timing`: server timings in `metadata.openenv`.
 * `binary`: frames may be MessagePack. `batch`: the socket carries many sessions instead of one. `resume`: the session
 * outlives the socket. `digest`: `metadata.openenv.digest` identifies the state. `move`: the client can make a reset on
 * another server; the first answer names this one. `cancel`: a frame `cancel` cancels the request that is being answered.
 */
export const EXTENSIONS = ["warnings", "timing", "binary", "batch", "resume", "digest", "move", "cancel"] as const;
/** The query key of a client that leaves a server: a server that is paused or stops refuses its connection. */
export const MOVING_KEY = "moving";
/** Adds `view`, which pages request with a separate query key. */
export type Extension = (typeof EXTENSIONS)[number] | "view";
