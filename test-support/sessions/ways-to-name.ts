/** Every way to name a session, and the answer of a server that does not have it. */
import { randomUUID } from "node:crypto";
import { orsClient } from "../clients/ors-client.js";
import { initialize, rpc, send } from "../environments/mcp.js";
import { RESET } from "../servers/cluster.js";
import { BEGIN, TOKEN } from "../sockets/resumable.js";
import { openTestSocket } from "../sockets/socket.js";

/** One way to name a session. `use` makes a new connection, which any worker may accept. */
export interface Way {
  /** Opens a session. Returns how its client names it from then on. */
  open(url: string): Promise<string>;
  /** Resolves with "found", or with the status and the code of the error. */
  use(url: string, name: string): Promise<string>;
  /** A name that the server does not know. */
  unknown: string;
  /** A session by address moves to another server that shares the journal; others stay. */
  expected: { otherServer: string; lost: string; unknown: string };
}

const NEW_CONNECTION = { connection: "close" };

async function post(url: string, headers: object, body: object = {}): Promise<Response> {
  return fetch(url, { method: "POST", headers: { ...NEW_CONNECTION, ...headers }, body: JSON.stringify(body) });
}

async function describeAnswer(response: Response): Promise<string> {
  const body = (await response.json()) as { code?: string; openenv_code?: string };
  return response.ok ? "found" : `${response.status} ${body.openenv_code ?? body.code}`;
}

async function callRpc(url: string, method: string, params: object): Promise<Record<string, unknown>> {
  const response = await post(`${url}/mcp`, {}, { ...rpc, method, params });
  return (await response.json()) as Record<string, unknown>;
}

const stepWith = async (url: string, headers: object) =>
  describeAnswer(await post(`${url}/step`, headers, { action: { amount: 1 } }));
const ors = (url: string) => orsClient(url, NEW_CONNECTION);

async function openByRpc(url: string): Promise<string> {
  const { result } = await callRpc(url, "openenv/session/create", {});
  return (result as { session_id: string }).session_id;
}

export const WAYS: Record<string, Way> = {
  header: {
    open: async (url) => (await post(`${url}/reset`, {})).headers.get("openenv-session") ?? "",
    use: (url, name) => stepWith(url, { "openenv-session": name }),
    unknown: `w1-${randomUUID()}`,
    expected: { otherServer: "404 SESSION_ERROR", lost: "404 SESSION_ERROR", unknown: "404 SESSION_ERROR" },
  },
  cookie: {
    open: async (url) => /=(w.*?);/.exec((await post(`${url}/reset`, {})).headers.get("set-cookie") ?? "")?.[1] ?? "",
    use: (url, name) => stepWith(url, { cookie: `openenv_session_${new URL(url).port}=${name}` }),
    unknown: `w2-${randomUUID()}`,
    expected: { otherServer: "404 SESSION_ERROR", lost: "404 SESSION_ERROR", unknown: "404 SESSION_ERROR" },
  },
  query: {
    open: openByRpc,
    async use(url, name) {
      await using socket = await openTestSocket(`${url}/ws?session_id=${name}`);
      const { type, data } = await socket.ask(RESET);
      return type === "observation" ? "found" : `${(data as { code: string }).code}`;
    },
    unknown: `w2-${randomUUID()}`,
    expected: { otherServer: "SESSION_ERROR", lost: "SESSION_ERROR", unknown: "SESSION_ERROR" },
  },
  "query with a token": {
    async open(url) {
      await using socket = await openTestSocket(`${url}/ws?openenv=resume`);
      const { data } = await socket.ask(BEGIN);
      await socket.ask({ ...RESET, seq: 1, ack: 0 });
      return (data as { session_id: string }).session_id;
    },
    async use(url, name) {
      await using socket = await openTestSocket(`${url}/ws?openenv=resume&session_id=${name}`);
      const { type, data } = await socket.ask({ type: "resume", data: { token: TOKEN } });
      const { recovered, reason, code } = data as Record<string, unknown>;
      return type === "error" ? String(code) : recovered ? "found" : String(reason);
    },
    unknown: `w1-${randomUUID()}`,
    expected: {
      otherServer: "SESSION_ELSEWHERE",
      lost: "ended by an operator",
      unknown: "the server does not know the session",
    },
  },
  address: {
    async open(url) {
      const name = randomUUID();
      await post(`${url}/session/${name}/reset`, {});
      return name;
    },
    use: (url, name) => stepWith(`${url}/session/${name}`, {}),
    unknown: randomUUID(),
    expected: { otherServer: "found", lost: "500 NO_EPISODE", unknown: "500 NO_EPISODE" },
  },
  "name in a header": {
    async open(url) {
      const name = randomUUID();
      await post(`${url}/reset`, { "x-openenv-session-id": name });
      return name;
    },
    use: (url, name) => stepWith(url, { "x-openenv-session-id": name }),
    unknown: randomUUID(),
    expected: { otherServer: "found", lost: "500 NO_EPISODE", unknown: "500 NO_EPISODE" },
  },
  "JSON-RPC parameter": {
    open: openByRpc,
    async use(url, session_id) {
      const { result, error } = await callRpc(url, "tools/call", { session_id, name: "count" });
      return result === undefined ? String((error as { message: string }).message.split(":", 1)[0]) : "found";
    },
    unknown: `w1-${randomUUID()}`,
    expected: { otherServer: "Unknown session_id", lost: "Unknown session_id", unknown: "Unknown session_id" },
  },
  MCP: {
    open: async (url) => (await initialize(url))["mcp-session-id"],
    async use(url, name) {
      const answer = await send(
        url,
        { ...rpc, method: "tools/call", params: { name: "count" } },
        { "mcp-session-id": name, ...NEW_CONNECTION },
      );
      return answer.ok ? "found" : `${answer.status}`;
    },
    unknown: `w2-${randomUUID()}`,
    expected: { otherServer: "404", lost: "404", unknown: "404" },
  },
  ORS: {
    open: (url) => ors(url).open(),
    async use(url, name) {
      const { status } = await ors(url).request("GET", "/where_env/prompt", { id: name });
      return status === 200 ? "found" : String(status);
    },
    unknown: `w1-${randomUUID()}`,
    expected: { otherServer: "found", lost: "410", unknown: "404" },
  },
};
