/**
 * Every code this package raises or sends, with what it means and what to do about it.
 * `docs/reference/errors.md` is held equal to this table by a test.
 */
export const ERRORS = {
  INVALID_JSON: {
    boundary: "remote",
    meaning: "A frame or body is not JSON; with the extension `binary`, a binary frame is not MessagePack.",
    remedy: "Send one object a frame; the session goes on.",
  },
  UNKNOWN_TYPE: {
    boundary: "remote",
    meaning: "The `type` of a frame is missing or not one the server knows.",
    remedy: "Use reset, step, state, close or mcp; the session goes on.",
  },
  VALIDATION_ERROR: {
    boundary: "remote",
    meaning: "A frame, an action or a reset option does not fit its schema.",
    remedy: "Read `errors`: each entry has the path, the reason and the input; the session goes on.",
  },
  EXECUTION_ERROR: {
    boundary: "remote",
    meaning: "The environment failed in reset, step or state, or returned what its contract forbids.",
    remedy: "Read the message; mask this step instead of training on it; the session goes on.",
  },
  NO_EPISODE: {
    boundary: "remote",
    meaning: "A step was made before the first reset, or after one that failed; on the wire it is EXECUTION_ERROR.",
    remedy: "Call reset first; the session goes on.",
  },
  TIMEOUT: {
    boundary: "remote",
    meaning: "The environment did not answer within the time limit of the call.",
    remedy: "Raise the limit, or make the environment observe its `signal`.",
  },
  ISOLATE_LOST: {
    boundary: "remote",
    meaning: "The thread or process that held the session's environment has ended, and the session with it.",
    remedy: "Open a new session and mask the lost episode; the server's log says why.",
  },
  CAPACITY_REACHED: {
    boundary: "remote",
    meaning: "Every session of the server is taken.",
    remedy: "Try again later, or raise MAX_CONCURRENT_ENVS.",
  },
  FACTORY_ERROR: {
    boundary: "remote",
    meaning: "The environment factory failed to create an instance.",
    remedy: "See the server's log for the cause; mend the factory or its configuration.",
  },
  SESSION_ERROR: {
    boundary: "remote",
    meaning: "The named session is unknown, has ended or is attached elsewhere.",
    remedy: "Open a new session, or detach the other socket first.",
  },
  TASKS_NOT_SUPPORTED: {
    boundary: "remote",
    meaning: "The environment has no tasks, or not this way of reading them.",
    remedy: "Give `defineEnvironment` a task provider with that method.",
  },
  UNAUTHORIZED: {
    boundary: "remote",
    meaning: "The server answers only clients with its token, or the route is for its operator.",
    remedy:
      "Send the value of OPENENV_CLIENT_TOKEN, on a route for operators that of OPENENV_OPERATOR_TOKEN, as `token`; the command line takes it from OPENENV_TOKEN.",
  },
  FORBIDDEN: {
    boundary: "remote",
    meaning: "The server is in production and lets only its orchestrator reset, step and ask for the state.",
    remedy: "Connect with OPENENV_ORCHESTRATOR_TOKEN as `token`; tools can be called without it.",
  },
  REQUEST_FAILED: {
    boundary: "remote",
    meaning: "An HTTP request was answered with a status that is no success, or a JSON-RPC request with an error.",
    remedy: "Read the message; `details` has the `status` or the `rpc_code`.",
  },
  CONNECTION_FAILED: {
    boundary: "connection",
    meaning: "No connection to the server could be opened.",
    remedy: "Check the URL and that the server runs (`GET /health`).",
  },
  SESSION_LOST: {
    boundary: "connection",
    meaning: "The connection that carried the session has ended; the episode is gone.",
    remedy: "Call reset to start a new episode on a new session; mask the lost one.",
  },
  CLIENT_TIMEOUT: {
    boundary: "connection",
    meaning: "No answer came within the time limit of the call; the connection was dropped.",
    remedy: "Raise `timeoutMs`, then call reset.",
  },
  ABORTED: {
    boundary: "connection",
    meaning: "The caller's signal was aborted.",
    remedy: "Call reset before the next step when the call was already on its way.",
  },
  CLIENT_CLOSED: {
    boundary: "connection",
    meaning: "The client was closed.",
    remedy: "Open a new one with connect().",
  },
  PROTOCOL_ERROR: {
    boundary: "connection",
    meaning: "The server answered something that is not the OpenEnv protocol.",
    remedy: "Check that the URL names an OpenEnv server.",
  },
  CONTRACT_MISMATCH: {
    boundary: "connection",
    meaning: "The server's schema breaks the contract the client was given.",
    remedy: "Use the server's version of the contract; `openenv schema diff` lists every change.",
  },
  SYNC_SAME_PROCESS: {
    boundary: "connection",
    meaning: "A blocking client was pointed at a server in its own process, which would wait for itself.",
    remedy: "Use the asynchronous client, or run the server in another process.",
  },
  ENV_FAILED: {
    boundary: "environment",
    meaning: "The author's code reported a failure.",
    remedy: "The message is the author's and reaches the client as it is.",
  },
  TOOL_FAILED: {
    boundary: "environment",
    meaning: "A tool could not be called, or gave no result; `errorType` says why.",
    remedy: "Correct the arguments of `invalid_args`, choose another tool for `tool_not_found`; else read the message.",
  },
  INVALID_TOOL: {
    boundary: "environment",
    meaning:
      "A tool is declared with a name that is reserved or is none, without a description, or with a wrong option.",
    remedy: "The message names the tool and says what is allowed.",
  },
  RUBRIC_FAILED: {
    boundary: "environment",
    meaning: "A rubric could not score a step; on the wire it is EXECUTION_ERROR.",
    remedy: "Mask the step, never count it as zero; the message names the rubric, the server's log has the cause.",
  },
  PROVIDER_UNAVAILABLE: {
    boundary: "provider",
    meaning: "What a provider works with is not there: no container engine answers, or it may not be used.",
    remedy: "Start or install it, or get the permission; the message names it. Or choose another provider.",
  },
  SOURCE_NOT_FOUND: {
    boundary: "provider",
    meaning: "The image, folder or repository that was to be started does not exist, or cannot be read.",
    remedy: "Check its name and, for a private one, that you are logged in.",
  },
  SPACE_NOT_RUNNING: {
    boundary: "provider",
    meaning: "A Space that was to be used where it runs is asleep, paused, being built or broken.",
    remedy: "Wake it on its page, or start its image on your own machine with its `owner/name`.",
  },
  START_FAILED: {
    boundary: "provider",
    meaning: "An environment that a provider started ended at once, or does not work; nothing of it is left.",
    remedy: "Read the last lines of its log: the message ends with them, `logs` has more.",
  },
  START_TIMEOUT: {
    boundary: "provider",
    meaning: "An environment did not answer a reset over its WebSocket within `timeoutMs`; nothing of it is left.",
    remedy: "Read the message: it says what it waited for. Raise `timeoutMs` if it only needs longer.",
  },
  RELEASE_FAILED: {
    boundary: "provider",
    meaning: "A part of what a provider started could not be removed.",
    remedy: "`openenv ps` shows what is left, `openenv prune` removes it.",
  },
  BUILD_FAILED: {
    boundary: "publication",
    meaning: "The image of an environment could not be built.",
    remedy: "Read the last lines of the build: the message ends with them.",
  },
  HUB_FAILED: {
    boundary: "publication",
    meaning: "The Hub refused a request, or the connection to it broke; `status` is what it answered.",
    remedy: "The message says what to do; a push that broke off can be run again.",
  },
  INVALID_CONFIG: {
    boundary: "configuration",
    meaning: "An option of a call, or an option, a variable or a file that something was started with, is wrong.",
    remedy: "The message names it and says what is allowed.",
  },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** What every error of this package is: a `code` from {@link ERRORS} and a message that says what to do. */
export class OpenEnvError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.name = new.target.name;
  }
}

/** One reason why a value does not fit its schema. `loc` is the path to it, `input` what was found there. */
export interface ValidationIssue {
  type: string;
  loc: (string | number)[];
  msg: string;
  input?: unknown;
  ctx?: Record<string, unknown>;
}

/**
 * The server answered an error. `wireCode` is what it sent, also when this package does not know it; `code` may say more:
 * a server of this package tells NO_EPISODE from other EXECUTION_ERRORs.
 */
export class RemoteError extends OpenEnvError {
  readonly outcome = "env_error" as const;
  readonly wireCode: string;
  readonly errors: readonly ValidationIssue[];
  readonly details: Readonly<Record<string, unknown>>;

  constructor(wireCode: string, message: string, details: Record<string, unknown> = {}) {
    super(toErrorCode(details["openenv_code"]) ?? toErrorCode(wireCode) ?? "PROTOCOL_ERROR", message);
    this.wireCode = wireCode;
    this.details = details;
    this.errors = Array.isArray(details["errors"]) ? (details["errors"] as ValidationIssue[]) : [];
  }
}

function toErrorCode(code: unknown): ErrorCode | undefined {
  return typeof code === "string" && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : undefined;
}

/** The connection failed or ended: the episode is lost, and no reward may be taken from it. */
export class ConnectionError extends OpenEnvError {
  readonly outcome = "lost" as const;
}

/** The server's contract is not the one the client was given. `fields` are the paths that break. */
export class ContractMismatchError extends ConnectionError {
  readonly fields: readonly string[];

  constructor(message: string, fields: readonly string[]) {
    super("CONTRACT_MISMATCH", message);
    this.fields = fields;
  }
}

/**
 * Thrown by an author to tell the client what went wrong: its message is sent as it is, in every mode.
 * An illegal move is an observation, not an error.
 */
export class EnvironmentError extends OpenEnvError {
  constructor(message: string, options?: ErrorOptions) {
    super("ENV_FAILED", message, options);
  }
}

/** What can go wrong when a tool is called. */
export const TOOL_ERROR_TYPES = [
  "execution_error",
  "invalid_args",
  "transport_error",
  "tool_not_found",
  "timeout",
] as const;
export type ToolErrorType = (typeof TOOL_ERROR_TYPES)[number];

/**
 * A tool gave no result. Thrown by a handler to say of which kind the failure is: its message is sent as it is, in every
 * mode. What an agent can do about it is better told in an ordinary result.
 */
export class ToolError extends OpenEnvError {
  readonly errorType: ToolErrorType;

  constructor(errorType: ToolErrorType, message: string, options?: ErrorOptions) {
    super("TOOL_FAILED", message, options);
    this.errorType = errorType;
  }
}

/**
 * A rubric could not score. The message names the rubric and holds nothing that a client must not see; `cause` is what
 * went wrong. Never a score of zero.
 */
export class RubricError extends EnvironmentError {
  override readonly code = "RUBRIC_FAILED";
  /** The path of the rubric below the one that was asked (`tests.style`), or its class. */
  readonly rubric: string;

  constructor(rubric: string, reason: string, options?: ErrorOptions) {
    super(`the rubric ${rubric} ${reason}`, options);
    this.rubric = rubric;
  }
}

/**
 * A provider could not start an environment, or not end it; nothing of a failed start is left. The message ends with the
 * last lines that the environment wrote.
 */
export class ProviderError extends OpenEnvError {
  readonly outcome = "lost" as const;
  /** The end of its log, at most 64 KB; empty when nothing was written. */
  readonly logs: string;

  constructor(code: ErrorCode, message: string, { logs = "", ...options }: ErrorOptions & { logs?: string } = {}) {
    super(code, message, options);
    this.logs = logs;
  }
}

/** A wrong option, variable or file; the message says what to change. Command lines exit with 2. */
export class ConfigError extends OpenEnvError {
  constructor(message: string, options?: ErrorOptions) {
    super("INVALID_CONFIG", message, options);
  }
}
