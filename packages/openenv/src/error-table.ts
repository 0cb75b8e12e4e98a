import { type ErrorCode, FAULT_OF } from "./faults.js";

interface ErrorText {
  /** Where it occurs. */
  boundary: "remote" | "connection" | "environment" | "provider" | "publication" | "configuration";
  meaning: string;
  remedy: string;
}

const TEXTS = {
  INVALID_JSON: {
    boundary: "remote",
    meaning: "A frame or body is not JSON; with the extension `binary`, a binary frame is not MessagePack.",
    remedy: "Send one JSON object in each frame; the session continues.",
  },
  UNKNOWN_TYPE: {
    boundary: "remote",
    meaning: "The `type` of a frame is missing or unknown to the server.",
    remedy: "Use reset, step, state, close or mcp; the session continues.",
  },
  VALIDATION_ERROR: {
    boundary: "remote",
    meaning: "A frame, an action or a reset option does not fit its schema.",
    remedy: "Read `errors`: each entry has the path, the reason and the input; the session continues.",
  },
  EXECUTION_ERROR: {
    boundary: "remote",
    meaning: "The environment failed in reset, step or state, or returned a value that its contract does not allow.",
    remedy: "Read the message; mask this step instead of training on it; the session continues.",
  },
  NO_EPISODE: {
    boundary: "remote",
    meaning: "Step was called before the first reset or after a failed reset; on the wire it is EXECUTION_ERROR.",
    remedy: "Call reset first; the session continues.",
  },
  EPISODE_DONE: {
    boundary: "remote",
    meaning: "An agent called a tool as a step after the end of the episode; on the wire it is EXECUTION_ERROR.",
    remedy: "Stop the rollout, or call reset to begin another episode; the session continues.",
  },
  TIMEOUT: {
    boundary: "remote",
    meaning: "The environment did not answer within the time limit of the call.",
    remedy: "Raise the limit, or make the environment observe its `signal`.",
  },
  CANCELLED: {
    boundary: "remote",
    meaning: "The client has cancelled the call. The environment's code runs to its end, and its result is discarded.",
    remedy: "Nothing: the session continues, and the next call waits for the code. A repeat of the call never runs.",
  },
  ISOLATE_LOST: {
    boundary: "remote",
    meaning: "The thread or process that ran the session's environment has ended, and the session with it.",
    remedy: "Open a new session and mask the lost episode; the server's log has the cause.",
  },
  CAPACITY_REACHED: {
    boundary: "remote",
    meaning: "All sessions of the server are in use.",
    remedy: "Try again later, or raise MAX_CONCURRENT_ENVS.",
  },
  FACTORY_ERROR: {
    boundary: "remote",
    meaning: "The environment factory failed to create an instance.",
    remedy: "See the server's log for the cause; fix the factory or its configuration.",
  },
  SESSION_ERROR: {
    boundary: "remote",
    meaning: "The named session is unknown, has ended or is attached to another socket.",
    remedy: "Open a new session, or detach the other socket first.",
  },
  SESSION_IN_USE: {
    boundary: "remote",
    meaning: "Another client is connected to the session of the address, and answers pings.",
    remedy: "Give each client its own name: `/session/<name>`; the session of the other client continues.",
  },
  SEQUENCE_CONFLICT: {
    boundary: "remote",
    meaning: "A request has the `seq`, or over HTTP the `request_id`, of an earlier, different request of its session.",
    remedy: "Number each new request one higher, or give it a new id; repeat a request only with the same content.",
  },
  SEQUENCE_GAP: {
    boundary: "remote",
    meaning: "A request of a resumable session came before the one with the preceding `seq`.",
    remedy: "Send the missing requests first.",
  },
  SEQUENCE_OVERFLOW: {
    boundary: "remote",
    meaning: "A resumable session has too many answers that its client has not acknowledged.",
    remedy: "Send `ack` with the highest `seq` that was answered, then the request again.",
  },
  ANSWER_EXPIRED: {
    boundary: "remote",
    meaning: "A repeated request of a resumable session was acknowledged before: its answer is not stored any more.",
    remedy: "Do not repeat a request whose answer was acknowledged.",
  },
  STEP_CRASHED: {
    boundary: "remote",
    meaning: "A request of a resumable session has twice ended the process that executed it; it is not executed again.",
    remedy: "Mask this step; the session continues from the state before it. The server's log has the cause.",
  },
  SESSION_ELSEWHERE: {
    boundary: "remote",
    meaning: "A resumable session is held by another running server, or by a connection with the same number.",
    remedy: "Connect to that server, or try again later; a client with `resume` does it by itself.",
  },
  RESET_ELSEWHERE: {
    boundary: "remote",
    meaning: "The server is paused or stops, and the client can make the reset on another server.",
    remedy:
      "Reset on another server, as the clients of this package do; this one executes the reset if it is repeated.",
  },
  JOURNAL_UNAVAILABLE: {
    boundary: "remote",
    meaning: "The journal of the server cannot be read or written, so no resumable session can be opened.",
    remedy: "Try again later. Operators: the log has the cause, such as a full disk or a Redis that is away.",
  },
  PLUGIN_FAILED: {
    boundary: "remote",
    meaning: "A plugin of the server failed, or took longer than 5 s, before the request reached the environment.",
    remedy: "Try again later: the session continues. Operators: the log names the plugin and has the cause.",
  },
  EPOCH_LOST: {
    boundary: "remote",
    meaning: "Another process has taken over a session: the journal refuses this one. Clients never get it.",
    remedy: "Nothing: the server closes its instance, and the client continues with the other process.",
  },
  NOT_RESTORABLE: {
    boundary: "remote",
    meaning: "The session cannot be copied or restored; the message has the reason.",
    remedy: "Add `snapshot()` and `restore()` to the environment, or declare `seeded: true` if it is deterministic.",
  },
  EVENT_NOT_KEPT: {
    boundary: "remote",
    meaning: "The state after the requested event, or the session's events, are not kept; the message says what is.",
    remedy: "Fork at an event that is kept, or declare a longer `history`. Only replayable sessions keep events.",
  },
  SNAPSHOT_FAILED: {
    boundary: "remote",
    meaning: "The environment's `snapshot()` failed, or returned a value that is too large or neither JSON nor bytes.",
    remedy: "Read the message and correct `snapshot()`; the session continues.",
  },
  SNAPSHOT_MISMATCH: {
    boundary: "remote",
    meaning: "A session was saved with another contract or `snapshotVersion` than the server has.",
    remedy: "Continue it with the version of the environment that saved it, or begin a new session.",
  },
  RESTORE_FAILED: {
    boundary: "remote",
    meaning:
      "The environment's `restore()` failed, or a replay differed from what was recorded; the message has the first difference.",
    remedy: "Check the environment with `checkEnvironment`; begin a new session.",
  },
  TASKS_NOT_SUPPORTED: {
    boundary: "remote",
    meaning: "The environment has no tasks, or its task provider lacks this method.",
    remedy: "Pass `defineEnvironment` a task provider with that method.",
  },
  UNAUTHORIZED: {
    boundary: "remote",
    meaning: "The server requires a token, or the route is reserved for its operator.",
    remedy:
      "Pass the value of OPENENV_CLIENT_TOKEN as `token`, or the value of OPENENV_OPERATOR_TOKEN on a route for operators; the command line reads it from OPENENV_TOKEN.",
  },
  FORBIDDEN: {
    boundary: "remote",
    meaning: "The server runs in production mode, in which only its orchestrator may call reset, step and state.",
    remedy: "Connect with OPENENV_ORCHESTRATOR_TOKEN as `token`; tool calls do not need it.",
  },
  REQUEST_FAILED: {
    boundary: "remote",
    meaning: "The server answered an HTTP request with an error status, or a JSON-RPC request with an error.",
    remedy: "Read the message; `details` has the `status` or the `rpc_code`.",
  },
  CONNECTION_FAILED: {
    boundary: "connection",
    meaning: "The connection to the server could not be opened.",
    remedy: "Check the URL and that the server is running (`GET /health`).",
  },
  SESSION_LOST: {
    boundary: "connection",
    meaning:
      "The connection of the session has closed, or its environment threw `SessionLostError`, which ends the session; the episode is lost.",
    remedy: "Call reset to start a new episode on a new session; mask the lost one.",
  },
  CLIENT_TIMEOUT: {
    boundary: "connection",
    meaning: "No answer arrived within the time limit of the call; the connection was closed.",
    remedy: "Raise `timeoutMs`, then call reset.",
  },
  ABORTED: {
    boundary: "connection",
    meaning: "The caller's signal was aborted.",
    remedy: "If the call had already been sent, call reset before the next step.",
  },
  CLIENT_CLOSED: {
    boundary: "connection",
    meaning: "The client was closed.",
    remedy: "Open a new one with connect().",
  },
  PROTOCOL_ERROR: {
    boundary: "connection",
    meaning: "The server's answer does not follow the OpenEnv protocol.",
    remedy: "Check that the URL is the address of an OpenEnv server.",
  },
  CONTRACT_MISMATCH: {
    boundary: "connection",
    meaning: "The server's schema is incompatible with the client's contract.",
    remedy: "Use the server's version of the contract; `openenv schema diff` lists every change.",
  },
  ENV_FAILED: {
    boundary: "environment",
    meaning: "The environment's author reported a failure.",
    remedy: "Read the message: it is the author's, sent to the client unchanged.",
  },
  TOOL_FAILED: {
    boundary: "environment",
    meaning: "A tool could not be called or returned no result; `errorType` has the reason.",
    remedy:
      "For `invalid_args` correct the arguments, for `tool_not_found` choose another tool, otherwise read the message.",
  },
  INVALID_TOOL: {
    boundary: "environment",
    meaning: "A tool is declared with a reserved or invalid name, without a description, or with an invalid option.",
    remedy: "Read the message: it names the tool and says what is allowed.",
  },
  RUBRIC_FAILED: {
    boundary: "environment",
    meaning: "A rubric could not score a step; on the wire it is EXECUTION_ERROR.",
    remedy: "Mask the step, never score it as zero; the message names the rubric, the server's log has the cause.",
  },
  POLICY_FAILED: {
    boundary: "environment",
    meaning: "A policy of `openenv collect` threw an error instead of choosing an action; files of episodes have it.",
    remedy: "Read the message, correct the policy, and run the command again: it plays the episode.",
  },
  PROVIDER_UNAVAILABLE: {
    boundary: "provider",
    meaning: "A provider needs something that is missing or not permitted, such as a running container engine.",
    remedy: "Install it, start it or get permission; the message names it. Or choose another provider.",
  },
  SOURCE_NOT_FOUND: {
    boundary: "provider",
    meaning: "The image, folder or repository to start does not exist or cannot be read.",
    remedy: "Check its name and, if it is private, that you are logged in.",
  },
  SPACE_NOT_RUNNING: {
    boundary: "provider",
    meaning: "A Space that the client should connect to is asleep, paused, being built or broken.",
    remedy: "Wake it on its page, or start its image on your machine with its `owner/name`.",
  },
  START_FAILED: {
    boundary: "provider",
    meaning: "An environment that a provider started exited or does not work; the provider has removed it.",
    remedy: "Read the last lines of its log at the end of the message; `logs` has more.",
  },
  START_TIMEOUT: {
    boundary: "provider",
    meaning: "An environment did not answer a reset over its WebSocket within `timeoutMs`, and was removed.",
    remedy: "Read the message: it says what the provider waited for. Raise `timeoutMs` if the start needs longer.",
  },
  RELEASE_FAILED: {
    boundary: "provider",
    meaning: "A provider could not remove a resource that it had created.",
    remedy: "List what is left with `openenv ps`, remove it with `openenv prune`.",
  },
  BUILD_FAILED: {
    boundary: "publication",
    meaning: "The image of an environment could not be built.",
    remedy: "Read the last lines of the build at the end of the message.",
  },
  HUB_FAILED: {
    boundary: "publication",
    meaning: "The Hugging Face Hub refused a request, or the connection to it broke; `status` is the HTTP status.",
    remedy: "Read the message: it says what to do. An interrupted push can be run again.",
  },
  INVALID_CONFIG: {
    boundary: "configuration",
    meaning: "An option, a command-line flag, an environment variable or a file has an invalid value.",
    remedy: "Read the message: it names the setting and says what is allowed.",
  },
} as const satisfies Record<ErrorCode, ErrorText>;

/**
 * Every error code of this package, with its usual cause, meaning and remedy.
 * A test keeps `docs/reference/errors.md` equal to this table.
 */
export const ERRORS = /* @__PURE__ */ withFaults();

type ErrorTable = { readonly [K in ErrorCode]: (typeof TEXTS)[K] & { readonly fault: (typeof FAULT_OF)[K] } };

function withFaults(): ErrorTable {
  const entries = Object.entries(TEXTS).map(([code, text]) => [code, { fault: FAULT_OF[code as ErrorCode], ...text }]);
  return Object.fromEntries(entries) as ErrorTable;
}
