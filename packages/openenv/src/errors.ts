import { type ErrorCode, FAULT_OF, FAULTS, type Fault } from "./faults.js";

export { ERRORS } from "./error-table.js";
export { type ErrorCode, FAULT_OF, FAULTS, type Fault } from "./faults.js";

/** The base class of every error of this package: a `code` from {@link ERRORS} and a message that says what to do. */
export class OpenEnvError extends Error {
  readonly code: ErrorCode;
  /** Who caused it. Mask what failed through `infrastructure` or `environment`: neither is a reward of 0. */
  readonly fault: Fault;

  constructor(code: ErrorCode, message: string, { fault, ...options }: ErrorOptions & { fault?: Fault } = {}) {
    super(message, options);
    this.code = code;
    this.fault = fault ?? FAULT_OF[code];
    this.name = new.target.name;
  }
}

/** One reason why a value does not fit its schema. `loc` is the path to the value, `input` the value found there. */
export interface ValidationIssue {
  type: string;
  loc: (string | number)[];
  msg: string;
  input?: unknown;
  ctx?: Record<string, unknown>;
}

/**
 * The server answered with an error. `wireCode` is the code that it sent, even an unknown one. `code` may be more
 * precise: a server of this package distinguishes NO_EPISODE from other EXECUTION_ERRORs.
 */
export class RemoteError extends OpenEnvError {
  readonly outcome = "env_error" as const;
  readonly wireCode: string;
  readonly errors: readonly ValidationIssue[];
  readonly details: Readonly<Record<string, unknown>>;

  constructor(wireCode: string, message: string, details: Record<string, unknown> = {}) {
    const code = toErrorCode(details["openenv_code"]) ?? toErrorCode(wireCode) ?? "PROTOCOL_ERROR";
    super(code, message, { fault: toFault(details["fault"]) ?? FAULT_OF[code] });
    this.wireCode = wireCode;
    this.details = details;
    this.errors = Array.isArray(details["errors"]) ? (details["errors"] as ValidationIssue[]) : [];
  }
}

function toErrorCode(code: unknown): ErrorCode | undefined {
  return typeof code === "string" && Object.hasOwn(FAULT_OF, code) ? (code as ErrorCode) : undefined;
}

function toFault(given: unknown): Fault | undefined {
  return FAULTS.find((fault) => fault === given);
}

/** Request Timeout and Too Many Requests. */
const BUSY = [408, 429];

/** Who caused an HTTP error that does not say it; 501 is a part that the server does not have. */
export function faultOfStatus(status: number): Fault {
  if (status === 501) return "client";
  return status >= 500 || BUSY.includes(status) ? "infrastructure" : "client";
}

/** The connection failed or ended. The episode is lost and has no reward. */
export class ConnectionError extends OpenEnvError {
  readonly outcome = "lost" as const;
}

/** The server's schema is incompatible with the client's contract. `fields` are the paths of the differences. */
export class ContractMismatchError extends ConnectionError {
  readonly fields: readonly string[];

  constructor(message: string, fields: readonly string[]) {
    super("CONTRACT_MISMATCH", message);
    this.fields = fields;
  }
}

/**
 * Thrown by an author to report a failure to the client: its message is sent unchanged, in every mode. `fault` is
 * `infrastructure` for a service that the environment needs. An illegal move is an observation, not an error.
 */
export class EnvironmentError extends OpenEnvError {
  constructor(message: string, options?: ErrorOptions & { fault?: Exclude<Fault, "client"> }) {
    super("ENV_FAILED", message, options);
  }
}

/** The kinds of failed tool calls. */
export const TOOL_ERROR_TYPES = [
  "execution_error",
  "invalid_args",
  "transport_error",
  "tool_not_found",
  "timeout",
] as const;
export type ToolErrorType = (typeof TOOL_ERROR_TYPES)[number];

/** Who caused a failed tool call. */
export const TOOL_FAULTS: Readonly<Record<ToolErrorType, Fault>> = {
  execution_error: "environment",
  invalid_args: "client",
  transport_error: "infrastructure",
  tool_not_found: "client",
  timeout: "environment",
};

/**
 * A tool call failed. A handler throws it to name the kind of the failure; its message is sent unchanged, in every
 * mode. Return an ordinary result instead when the agent can act on it.
 */
export class ToolError extends OpenEnvError {
  readonly errorType: ToolErrorType;

  constructor(errorType: ToolErrorType, message: string, options?: ErrorOptions) {
    super("TOOL_FAILED", message, { ...options, fault: TOOL_FAULTS[errorType] });
    this.errorType = errorType;
  }
}

/**
 * A rubric could not score a step. This is never a score of zero. The message names the rubric and is safe to send to
 * clients; `cause` is the original error.
 */
export class RubricError extends EnvironmentError {
  override readonly code = "RUBRIC_FAILED";
  /** The path of the rubric below the root rubric (`tests.style`), or its class. */
  readonly rubric: string;

  constructor(rubric: string, reason: string, options?: ErrorOptions) {
    super(`the rubric ${rubric} ${reason}`, options);
    this.rubric = rubric;
  }
}

/**
 * A provider could not start or stop an environment. After a failed start the provider has removed what it created. The
 * message ends with the last lines of the environment's log.
 */
export class ProviderError extends OpenEnvError {
  readonly outcome = "lost" as const;
  /** The end of the environment's log, at most 64 KB; empty when it wrote nothing. */
  readonly logs: string;

  constructor(code: ErrorCode, message: string, { logs = "", ...options }: ErrorOptions & { logs?: string } = {}) {
    super(code, message, options);
    this.logs = logs;
  }
}

/** An invalid option, environment variable or file; the message says what to change. Commands exit with code 2. */
export class ConfigError extends OpenEnvError {
  constructor(message: string, options?: ErrorOptions) {
    super("INVALID_CONFIG", message, options);
  }
}
