/** The ways in which a client makes the steps of a session that outlives its server, each with real requests. */
import { createHash } from "node:crypto";
import type { RunningServer } from "../../packages/openenv/src/server/types.js";
import { orsClient } from "../clients/ors-client.js";
import { openTestSocket, type TestSocket } from "../sockets/socket.js";

/** What a step was answered with: the count after it, or the code of an error. */
export type Outcome = number | string | undefined;

export interface DoorClient extends AsyncDisposable {
  /** Opens the session. */
  begin(server: RunningServer): Promise<void>;
  /** Makes the step with this positive integer; the same integer again repeats it. Each call opens a connection. */
  step(server: RunningServer, nth: number, amount: number): Promise<Outcome>;
}

/** Clients name a step by a number, by an id, or not at all. */
export type Naming = "number" | "id" | "none";

export interface Door {
  readonly naming: Naming;
  open(): DoorClient;
}

const BASE = "/session/run-7_worker-3_5f1c9a";
const TOKEN = "a-token-of-the-client";
const JSON_BODY = { "content-type": "application/json" };

interface Answer {
  code?: string;
  observation?: { count: number };
}

const outcomeOf = ({ code, observation }: Answer): Outcome => code ?? observation?.count;

/** Sockets of a client, of which only the last is open. */
class Sockets {
  #last: TestSocket | undefined;

  async open(server: RunningServer, path: string): Promise<TestSocket> {
    this.close();
    return (this.#last = await openTestSocket(server.url + path));
  }

  close(): void {
    this.#last?.ws.terminate();
  }
}

function numbered(extensions: string, frames: NumberedFrames): DoorClient {
  const sockets = new Sockets();
  let id = "";
  const resume = async (server: RunningServer): Promise<TestSocket> => {
    const socket = await sockets.open(server, `/ws?openenv=${extensions}&session_id=${id}`);
    await socket.ask({ type: "resume", data: { token: TOKEN } });
    return socket;
  };
  return {
    async begin(server) {
      const socket = await sockets.open(server, `/ws?openenv=${extensions}`);
      const token_hash = createHash("sha256").update(TOKEN).digest("hex");
      const { data } = await socket.ask({ type: "resume", data: { token_hash } });
      id = (data as { session_id: string }).session_id;
      for (const [nth, frame] of frames.begin.entries()) await socket.ask({ ...frame, seq: nth + 1, ack: nth });
    },
    async step(server, nth, amount) {
      const socket = await resume(server);
      if (frames.call !== undefined) return await frames.call(server, id, amount);
      const seq = frames.begin.length + nth;
      const reply = await socket.ask({ ...frames.step(amount), seq, ack: seq - 1 });
      return outcomeOf(frames.read(reply["data"] as object));
    },
    async [Symbol.asyncDispose]() {
      sockets.close();
    },
  };
}

interface NumberedFrames {
  begin: readonly object[];
  step(amount: number): object;
  read(data: object): Answer;
  /** Makes the step over another connection, without a number. */
  call?(server: RunningServer, id: string, amount: number): Promise<Outcome>;
}

const BATCH: NumberedFrames = {
  begin: [
    { type: "open_many", data: { count: 2 } },
    { type: "reset_many", data: { items: [{ session: 0 }, { session: 1 }] } },
  ],
  step: (amount) => ({ type: "step_many", data: { items: [{ session: 1, data: { amount } }] } }),
  // A frame that is refused has no items.
  read: (data) => (data as { items?: { data: Answer }[] }).items?.[0]?.data ?? (data as Answer),
};

async function post(server: RunningServer, path: string, body: object, headers = {}): Promise<Response> {
  const init = { method: "POST", headers: { ...JSON_BODY, ...headers }, body: JSON.stringify(body) };
  return await fetch(server.url + path, init);
}

const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });

interface ToolCall {
  path: string;
  amount: number;
  headers?: Record<string, string>;
  session_id?: string;
}

async function callTool(server: RunningServer, { path, amount, headers, ...named }: ToolCall): Promise<Outcome> {
  const call = rpc("tools/call", { name: "add", arguments: { amount }, ...named });
  const response = await post(server, path, call, headers);
  const text = await response.text();
  const code = /STEP_CRASHED/.exec(text)?.[0];
  if (code !== undefined) return code;
  const { result } = JSON.parse(text) as { result: { data?: number; structuredContent?: { result: number } } };
  return result.data ?? result.structuredContent?.result;
}

const stateless = { async [Symbol.asyncDispose]() {} };

export const DOORS: Readonly<Record<string, Door>> = {
  "numbered frames": {
    naming: "number",
    open: () =>
      numbered("resume", {
        begin: [{ type: "reset" }],
        step: (amount) => ({ type: "step", data: { amount } }),
        read: (data) => data as Answer,
      }),
  },
  "an agent next to numbered frames": {
    naming: "none",
    open: () =>
      numbered("resume", {
        begin: [
          { type: "reset" },
          { type: "mcp", data: rpc("openenv/session/create", { tool_calls_are_steps: true }) },
        ],
        step: () => ({}),
        read: (data) => data as Answer,
        call: (server, session_id, amount) => callTool(server, { path: "/mcp", amount, session_id }),
      }),
  },
  "numbered frames of a batch": { naming: "number", open: () => numbered("resume,batch", BATCH) },
  "frames by address": {
    naming: "id",
    open() {
      const sockets = new Sockets();
      const ask = async (server: RunningServer, frame: Record<string, unknown>): Promise<Outcome> => {
        const socket = await sockets.open(server, `${BASE}/ws`);
        return outcomeOf((await socket.ask(frame))["data"] as Answer);
      };
      return {
        begin: async (server) => void (await ask(server, { type: "reset" })),
        step: (server, nth, amount) =>
          ask(server, { type: "step", data: { amount, metadata: { "openenv.request_id": `step-${nth}` } } }),
        [Symbol.asyncDispose]: async () => sockets.close(),
      };
    },
  },
  "HTTP by address": {
    naming: "id",
    open: () => ({
      ...stateless,
      begin: async (server) => void (await post(server, `${BASE}/reset`, {})),
      async step(server, nth, amount) {
        const response = await post(server, `${BASE}/step`, { action: { amount }, request_id: `step-${nth}` });
        return outcomeOf((await response.json()) as Answer);
      },
    }),
  },
  ORS: {
    naming: "id",
    open() {
      let id = "";
      const tasks = new Map<number, string>();
      let answered = 0;
      return {
        ...stateless,
        begin: async (server) => void (id = await orsClient(server.url).open()),
        async step(server, nth, amount) {
          // The id of a call has the number of the event before it.
          const task_id = tasks.get(nth) ?? `${crypto.randomUUID()}-${answered + 1}`;
          const isNew = !tasks.has(nth);
          tasks.set(nth, task_id);
          const ors = orsClient(server.url);
          const { result, error = "" } = await ors.call(id, "add", { amount }, { task_id });
          const { output } = (result ?? {}) as { output?: { blocks: { text: string }[] } };
          if (output === undefined) return codeIn(error);
          if (isNew) answered++;
          return Number(output.blocks[0]?.text);
        },
      };
    },
  },
  "JSON-RPC by address": {
    naming: "none",
    open: () => ({
      ...stateless,
      begin: async (server) => void (await post(server, `${BASE}/reset`, {})),
      step: (server, _nth, amount) => callTool(server, { path: `${BASE}/mcp`, amount }),
    }),
  },
  "MCP by address": {
    naming: "none",
    open: () => ({
      ...stateless,
      begin: async (server) => void (await post(server, `${BASE}/reset`, {})),
      async step(server, _nth, amount) {
        const accept = { accept: "application/json, text/event-stream" };
        const about = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };
        const begun = await post(server, `${BASE}/mcp`, rpc("initialize", about), accept);
        const session = begun.headers.get("mcp-session-id") ?? "";
        const headers = { ...accept, "mcp-protocol-version": "2025-06-18", "mcp-session-id": session };
        return await callTool(server, { path: `${BASE}/mcp`, amount, headers });
      },
    }),
  },
};

/** The errors of ORS have no code. */
function codeIn(error: string): string {
  if (error.includes("was another request")) return "SEQUENCE_CONFLICT";
  return error.includes("has twice ended the process") ? "STEP_CRASHED" : error;
}
