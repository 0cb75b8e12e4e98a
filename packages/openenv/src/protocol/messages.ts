import type { ValidationIssue } from "../errors.js";

/** The codes an `error` frame can carry; all are in the table of `errors.ts`. */
export type WireCode =
  | "INVALID_JSON"
  | "UNKNOWN_TYPE"
  | "VALIDATION_ERROR"
  | "EXECUTION_ERROR"
  | "TIMEOUT"
  | "ISOLATE_LOST"
  | "CAPACITY_REACHED"
  | "FACTORY_ERROR"
  | "SESSION_ERROR"
  | "UNAUTHORIZED"
  | "FORBIDDEN";

export type JsonObject = Record<string, unknown>;

/** Frames a client sends on `/ws`: one JSON object each. `step.data` is the action itself. */
export type ClientMessage =
  | { type: "reset"; data?: JsonObject }
  | { type: "step"; data: JsonObject }
  | { type: "state" }
  | { type: "close" }
  | { type: "mcp"; data: JsonObject };

/** What a reset or a step answers. `metadata` is in `observation`, and repeated beside it when it is not empty. */
export interface ObservationData {
  observation: JsonObject;
  reward: number | boolean | null;
  done: boolean;
  metadata?: JsonObject;
}

export interface ErrorData {
  message: string;
  code: WireCode;
  /** Tells apart what the reference has one code for; its clients ignore it. */
  openenv_code?: "NO_EPISODE";
  errors?: ValidationIssue[];
  active_sessions?: number;
  max_sessions?: number;
  factory_name?: string;
}

/** Frames the server sends: one for each client frame but `close`, in order, and nothing unsolicited. */
export type ServerMessage =
  | { type: "observation"; data: ObservationData }
  | { type: "state"; data: JsonObject }
  | { type: "error"; data: ErrorData }
  | { type: "mcp"; data: JsonObject };

/** What happened to a session, said by the close code because no unsolicited frame may be sent. */
export const CLOSE_CODES = {
  normal: 1000,
  tooLarge: 1009,
  noPong: 1011,
  restart: 1012,
  /** The server is short of memory. */
  overloaded: 1013,
  /** The session was ended by the server: its time ran out, or an operator closed it. */
  sessionEnded: 4000,
} as const;

/** The WebSocket subprotocol that the server selects when a page offers it with its token. */
export const SUBPROTOCOL = "openenv";
/** Begins an offered subprotocol that carries a token: the base64url form of its UTF-8 bytes follows. */
export const TOKEN_SUBPROTOCOL = "openenv-token.";

/** The query key that negotiates extensions on `/ws`; a server that does not know it ignores it. */
export const EXTENSIONS_KEY = "openenv";
/**
 * `warnings`: dropped reset options are named. `timing`: `metadata.openenv` says where the time went.
 * `binary`: frames may be MessagePack. `batch`: the socket carries many sessions, and none of its own.
 */
export const EXTENSIONS = ["warnings", "timing", "binary", "batch"] as const;
/** Those, and `view`, which a query key of its own asks for: pages want it, trainers do not. */
export type Extension = (typeof EXTENSIONS)[number] | "view";
