import { setTimeout as sleep } from "node:timers/promises";
import type { ServeOptions } from "openenv-ts/server";
import { SLOW_MS } from "../environments/counter.js";
import type { Recording } from "./load.js";
import { playHttp } from "./play-http.js";
import type { Stage } from "./stage.js";

/** The conditions of a case that its row does not contain: server options and previous requests. */
export interface Scenario {
  env?: string;
  options?: ServeOptions;
  /** Fields that the row does not contain. */
  complete?: Partial<Recording>;
  before?(stage: Stage, row: Recording): Promise<void>;
  /** Silence after the first step, until an idle session is gone. */
  pause?: true;
}

/** Where it is not the end of idle sessions that was recorded. */
const PATIENT: ServeOptions = { sessionTimeout: 60 };
const CLOSED_SESSION = "a841b5ed-e2a1-4dc1-9bab-0f2b44afaf6f";
const ATTACHED_SESSION = "eeaf3437-7c38-4461-9ff5-fba6b06f7505";
const ATTACHED_PATH = `/ws?session_id=${ATTACHED_SESSION}`;
/** The reference holds the slot of a client that left until its step returns, after 3 s. */
const HELD_MS = 500;
const MIB = 1024 * 1024;

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "ws/capacity-refused": { before: holding(2) },
  "ws/capacity-freed": {
    async before(stage) {
      await stage.hold();
      await (await stage.hold()).close();
      await stage.until(async () => (await stage.countActive()) === 1);
    },
  },
  "ws/frame-15MiB": { complete: { send_text: paddedReset(15 * MIB) } },
  "edge/deep-json": {
    complete: {
      send_text: `{"type":"step","data":{"amount":1,"metadata":${'{"a":'.repeat(500)}1${"}".repeat(500)}}}`,
      recv: [{ type: "error", data: { message: "", code: "EXECUTION_ERROR" } }],
    },
  },
  "edge/ws-origin-header": { complete: { headers: { origin: "https://example.org" } } },
  // Offered as a plain header, because the client library would require the server to select one.
  "edge/ws-subprotocol-offer": {
    complete: {
      headers: { "sec-websocket-protocol": "openenv" },
      response_headers: { "sec-websocket-protocol": null },
    },
  },
  "edge/ws-no-compression": { complete: { response_headers: { "sec-websocket-extensions": null } } },
  "edge/reaper-ignores-state-frames": { before: askingHolder },

  "http/step/stateless": {
    async before(stage, row) {
      await playHttp(row, stage.url);
    },
  },
  "openapi/simulation": { env: "counter" },
  "openapi/production": { env: "counter-production" },

  "mcp/session/bump-1": { before: created(CLOSED_SESSION) },
  "mcp/session/bump-2": { before: bumped(CLOSED_SESSION) },
  "mcp/session/tools-list": { before: created(CLOSED_SESSION) },
  "mcp/stateless-at-capacity": { before: created("<1>", "<2>", "<3>") },
  "mcp/session/close": { before: created(CLOSED_SESSION) },
  "mcp/session/close-again": { before: closed },
  "mcp/session/use-after-close": { before: closed },
  "mcp/session/create-1": { before: created("<1>") },
  "mcp/session/create-2": { before: created("<1>", "<2>") },
  "mcp/session/capacity": { before: created("<1>", "<2>", "<3>") },
  "mcp/attach/http-bump-while-attached": {
    async before(stage) {
      await stage.createSession(ATTACHED_SESSION);
      const socket = await stage.hold(ATTACHED_PATH);
      await socket.send(JSON.stringify({ type: "step", data: { type: "call_tool", tool_name: "bump" } }));
      await socket.take(1);
    },
  },
  "mcp/attach/close-while-attached": { before: attached },
  "mcp/attach/after-detach": {
    async before(stage) {
      await stage.createSession(ATTACHED_SESSION);
      const socket = await stage.hold(ATTACHED_PATH);
      await stage.rpc("openenv/session/close", { session_id: ATTACHED_SESSION });
      await socket.close();
      await stage.until(async () => (await stage.countActive()) === 0);
    },
  },
  "mcp-ws/ws-capacity-shared-with-http-sessions": { before: created("<1>", "<2>", "<3>") },
  "mcp-ws/mcp-capacity": { before: created("<1>", "<2>", "<3>") },
  "mcp-ws/attach/session": { before: created("<id from openenv/session/create>") },
  "mcp-ws/attach/second-socket-refused": { before: attached },

  "web/step": { before: visited },
  "web/step-again-accumulates": { before: visitedAndStepped(1) },
  "web/state": { before: visitedAndStepped(2) },

  "timeouts/server-keepalive": { options: { pingIntervalMs: 500 } },
  "edge/no-pong": { options: { pingIntervalMs: 50 }, complete: { closed_by_server: { code: 1011 } } },
  "timeouts/own-websocket-idle": { pause: true },
  "timeouts/attached-socket-idle": { before: created("<id>"), pause: true, options: { sessionTimeout: 2.5 } },
  "timeouts/http-session-idle": {
    async before(stage) {
      await stage.createSession("<idle session>");
      await stage.until(async () => (await stage.countActive()) === 0);
    },
  },
  "timeouts/slot-before-reap": { before: holding(1), options: PATIENT },
  "timeouts/sessions-run-in-parallel": { options: PATIENT },
  "timeouts/slot-after-reap": { before: idleHolder },
  "timeouts/disconnect-during-step-holds-slot": {
    async before(stage) {
      await stage.hold();
      await leaveDuringStep(stage);
      const late = Date.now() + HELD_MS;
      await stage.until(async () => (await stage.countActive()) === 1 || Date.now() > late);
    },
  },
  "timeouts/slot-freed-after-step": {
    async before(stage) {
      await stage.hold();
      await leaveDuringStep(stage);
      await sleep(SLOW_MS);
      await stage.until(async () => (await stage.countActive()) === 1);
    },
  },
};

/** Disconnects during a step that takes longer. */
async function leaveDuringStep(stage: Stage): Promise<void> {
  const socket = await stage.hold();
  await socket.send(JSON.stringify({ type: "step", data: { amount: 50 } }));
  // The pong arrives once the step has begun; the answer to another frame would wait for the step.
  await new Promise<void>((resolve) => {
    socket.ws.once("pong", () => resolve());
    socket.ws.ping();
  });
  await socket.close();
}

/** A visitor of the web interface has stepped once before a reset, and has started the recorded episode. */
async function visited(stage: Stage, row: Recording): Promise<void> {
  await visit(stage, row, "/web/step", { action: { amount: 2 } });
  await visit(stage, row, "/web/reset", { seed: 1, episode_id: "w1", start: 2 });
}

function visitedAndStepped(steps: number) {
  return async (stage: Stage, row: Recording): Promise<void> => {
    await visited(stage, row);
    for (let i = 0; i < steps; i++) await visit(stage, row, "/web/step", { action: { amount: 2 } });
  };
}

/** Sends a browser request before the recorded one, which then has its cookie. */
async function visit(stage: Stage, row: Recording, path: string, body: object): Promise<void> {
  const headers = row.headers ?? {};
  const answer = await playHttp({ case: row.case, env: row.env, method: "POST", path, body, headers }, stage.url);
  const [cookie] = (answer.response_headers?.["set-cookie"] as unknown as string[] | undefined) ?? [];
  if (cookie !== undefined) row.headers = { cookie: cookie.split(";")[0] as string };
}

function holding(count: number) {
  return async (stage: Stage): Promise<void> => {
    for (let i = 0; i < count; i++) await stage.hold();
  };
}

async function idleHolder(stage: Stage): Promise<void> {
  await stage.hold();
  await sleep(stage.idleMs);
}

/** Stays as long as an idle holder, but asks for its state every second. */
async function askingHolder(stage: Stage): Promise<void> {
  const socket = await stage.hold();
  const end = Date.now() + stage.idleMs;
  while (Date.now() < end) {
    await socket.send(JSON.stringify({ type: "state" }));
    await sleep(1_000);
  }
}

function created(...recorded: string[]) {
  return async (stage: Stage): Promise<void> => {
    for (const id of recorded) await stage.createSession(id);
  };
}

function bumped(recorded: string) {
  return async (stage: Stage): Promise<void> => {
    await stage.createSession(recorded);
    await stage.rpc("tools/call", { name: "bump", arguments: {}, session_id: recorded });
  };
}

async function closed(stage: Stage): Promise<void> {
  await stage.createSession(CLOSED_SESSION);
  await stage.rpc("openenv/session/close", { session_id: CLOSED_SESSION });
}

async function attached(stage: Stage): Promise<void> {
  await stage.createSession(ATTACHED_SESSION);
  await stage.hold(ATTACHED_PATH);
}

function paddedReset(bytes: number): string {
  return JSON.stringify({ type: "reset", data: { pad: "x".repeat(bytes) } });
}
