import { setTimeout as sleep } from "node:timers/promises";
import type { EnvClient } from "../client/env-client.js";
import { type ConnectOptions, DEFAULT_TIMEOUT_MS, requestHeaders } from "../client/options.js";
import { parseAddress } from "../client/transport/address.js";
import { connect } from "../connect.js";
import { ConnectionError, RemoteError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import { isObject } from "../util/is-object.js";
import { ADVICE, DEFAULT_SEED, isFull, isolated, resetResets, seedHonoured } from "./checks/behaviour.js";
import { type Endpoints, endpointChecks, type Standard } from "./checks/endpoints.js";
import { fetchJson, type JsonResponse } from "./checks/fetch-json.js";
import { type Crowd, capacityRejection, nothingLeft, workersAgree } from "./checks/sessions.js";
import { type SocketSubject, socketChecks } from "./checks/socket.js";
import { askTools } from "./checks/tools.js";
import { type CheckDefinition, type CheckReport, type Note, runChecks } from "./report.js";
import { sampleActions } from "./sample-actions.js";

export interface CheckServerOptions extends ConnectOptions {
  /** What is played; default: four actions sampled from the server's action schema. Give some where those show little. */
  actions?: readonly JsonObject[];
  /** The environment's own reset options. */
  reset?: JsonObject;
  /** Seed of the episodes, default 7, and id of the one that is looked at, default `checked`. */
  seed?: number;
  episodeId?: string;
  /** Milliseconds for that whole episode; default no limit but that of each answer. */
  episodeTimeoutMs?: number;
  /** Least and greatest reward of a step, where they are declared. */
  rewardRange?: readonly [number, number];
  /**
   * True: the seed decides the episode; where the actions do not show it, the check is skipped with that reason. False: it
   * need not. Default, as a URL does not say it: the same seed must give the same episode.
   */
  seeded?: boolean;
  /** Paths that differ by nature and are not compared, such as `observation.seen_at`. */
  ignore?: readonly string[];
  /** Another server, or worker, of the same environment; the same seed must give the same episode on both. */
  other?: string | URL;
  /** Milliseconds an HTTP route may take; default 5,000, never more than `timeoutMs`. */
  httpTimeoutMs?: number;
  /** Most sessions that are open at once; default 128. A greater capacity than that is not tried out. */
  maxHeld?: number;
  /** Sessions that come and go to see what they leave; default 100. */
  rounds?: number;
  /** Ids of checks that are not made. */
  leaveOut?: readonly string[];
}

export interface ServerReport extends CheckReport {
  /** `info.version` of `/openapi.json`, and the mode that its paths show. */
  standard: Standard;
}

const SAMPLES = 4;
const HTTP_TIMEOUT_MS = 5_000;
const MAX_HELD = 128;
const ROUNDS = 100;
/** How long a slot may take to be free once its session was closed. */
const PATIENCE_MS = 10_000;

/**
 * Checks a running server, of this package or of another, as a validator and a trainer use it: its HTTP routes, an
 * episode on `/ws`, many sessions at once. `url` is what `connect` takes. It fills the server up to its capacity, or to
 * `maxHeld` sessions, for a moment.
 * @throws ConnectionError when there is no server at the URL.
 * @example renderCheckReport(await checkServer("http://localhost:8000"));
 */
export async function checkServer(url: string | URL, options: CheckServerOptions = {}): Promise<ServerReport> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, httpTimeoutMs = HTTP_TIMEOUT_MS, seed = DEFAULT_SEED, signal } = options;
  const address = parseAddress(url);
  const headers = requestHeaders(options);
  const limits = { headers, timeoutMs: Math.min(timeoutMs, httpTimeoutMs), signal };
  const ask = (path: string, body?: unknown): Promise<JsonResponse> => fetchJson(address.http(path), limits, body);
  const schema = await askSchema(ask);
  const actions = options.actions ?? (await sample(schema, ask));
  const standard: Standard = { version: "unknown", mode: "unknown" };
  const subject: SocketSubject = {
    address,
    schema,
    headers,
    timeoutMs,
    rewardRange: options.rewardRange,
    open: () => openSession(url, options, PATIENCE_MS),
    episodeTimeoutMs: options.episodeTimeoutMs,
    plan: { reset: { ...options.reset, seed, episode_id: options.episodeId ?? "checked" }, actions },
    reset: options.reset ?? {},
  };
  const report = await runChecks(
    address.base,
    [
      ...endpointChecks({ ask, standard }),
      ...socketChecks(subject),
      ...crowdChecks(makeCrowd(url, options, { ask, actions })),
    ],
    options.leaveOut,
  );
  return { ...report, standard };
}

function crowdChecks(crowd: Crowd): CheckDefinition[] {
  type Run = (crowd: Crowd, note: Note) => Promise<void>;
  const check = (id: string, description: string, remedy: string, run: Run): CheckDefinition => ({
    id,
    description,
    remedy,
    needs: "episode",
    run: (note) => run(crowd, note),
  });
  return [
    check("isolated", "one session does not change another", ADVICE.isolated, isolated),
    check("reset_resets", "a second reset begins as the first did", ADVICE.resetResets, resetResets),
    check("seed_honoured", "the same seed and actions give the same episode", ADVICE.seeded, seedHonoured),
    check(
      "workers_agree",
      "the same seed and actions give the same episode in every session and on every worker",
      `${ADVICE.seeded} What all sessions share must be the same in each process.`,
      workersAgree,
    ),
    check(
      "capacity",
      "a session too many is refused with CAPACITY_REACHED, and the others go on",
      "Accept the socket, send one error frame CAPACITY_REACHED with active_sessions and max_sessions, close with 1000; free the slot when a session ends.",
      capacityRejection,
    ),
    check(
      "nothing_left",
      "sessions that have come and gone leave nothing",
      "End the session, close its environment and free its slot when its socket closes, on every path.",
      nothingLeft,
    ),
  ];
}

type Ask = Endpoints["ask"];

function makeCrowd(
  url: string | URL,
  options: CheckServerOptions,
  { ask, actions }: { ask: Ask; actions: readonly JsonObject[] },
): Crowd {
  const { other, reset = {}, seed = DEFAULT_SEED, seeded, ignore = [], maxHeld = MAX_HELD, rounds = ROUNDS } = options;
  return {
    actions,
    reset,
    seed,
    seeded,
    ignore,
    maxHeld,
    rounds,
    open: () => openSession(url, options, PATIENCE_MS),
    openNow: () => openSession(url, options, 0),
    openOther: other === undefined ? undefined : () => openSession(other, options, PATIENCE_MS),
    countSessions: async () => {
      const { status, body } = await ask("/sessions");
      const sessions = isObject(body) ? body["sessions"] : undefined;
      return status === 200 && Array.isArray(sessions) ? sessions.length : undefined;
    },
  };
}

/** What `GET /schema` tells; nothing when the answer is no such thing, which a check says later. */
async function askSchema(ask: Ask): Promise<JsonObject> {
  try {
    const { body } = await ask("/schema");
    return isObject(body) ? body : {};
  } catch (error) {
    if (error instanceof ConnectionError && error.code === "PROTOCOL_ERROR") return {};
    throw error;
  }
}

async function sample({ action }: JsonObject, ask: Ask): Promise<JsonObject[]> {
  const schema = isObject(action) ? action : {};
  return sampleActions(schema, await askTools(schema, ask), SAMPLES);
}

/**
 * Opens a session that the server has really granted: a refusal comes only after the handshake.
 * @throws RemoteError CAPACITY_REACHED when there is no room within `patienceMs`.
 */
async function openSession(url: string | URL, options: ConnectOptions, patienceMs: number): Promise<EnvClient> {
  for (const deadline = Date.now() + patienceMs; ; await sleep(25)) {
    // The schemas are checked apart, and bad input must reach the server.
    const env = await connect(url, { ...options, check: false });
    const answer: unknown = await env.state().catch((error: unknown) => error);
    // Errors of an environment are for a check to tell; a code that is nobody's is a refusal too.
    if (!isFull(answer) && !isStrange(answer)) return env;
    await env.close();
    if (!isFull(answer) || Date.now() >= deadline) throw answer;
  }
}

function isStrange(error: unknown): boolean {
  return error instanceof RemoteError && error.code === "PROTOCOL_ERROR";
}
