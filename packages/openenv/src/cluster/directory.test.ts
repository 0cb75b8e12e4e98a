/** Every way to name a session of a server with two workers: the session is found, or the answer says why not. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { orsClient } from "../../../../test-support/clients/ors-client.js";
import { createProject, type Project } from "../../../../test-support/commands/command-line.js";
import { initialize, rpc, send } from "../../../../test-support/environments/mcp.js";
import { AS_OPERATOR, fetchAsOperator } from "../../../../test-support/operator.js";
import { RESET, startCluster, type TestCluster } from "../../../../test-support/servers/cluster.js";
import { BEGIN, TOKEN } from "../../../../test-support/sockets/resumable.js";
import { openTestSocket } from "../../../../test-support/sockets/socket.js";
import type { SessionsBody } from "../protocol/http.js";

/** One way to name a session. `use` makes a new connection, which any worker may accept. */
interface Door {
  /** Opens a session. Returns how its client names it from then on. */
  open(url: string): Promise<string>;
  /** Resolves with "found", or with the status and the code of the error. */
  use(url: string, name: string): Promise<string>;
  /** A name that the server does not know. */
  unknown: string;
  expected: { otherServer: string; lost: string; unknown: string };
}

/** Enough that each of two workers accepts some. */
const CONNECTIONS = 8;
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

const DOORS: Record<string, Door> = {
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
    expected: { otherServer: "503 SESSION_ELSEWHERE", lost: "500 NO_EPISODE", unknown: "500 NO_EPISODE" },
  },
  "name in a header": {
    async open(url) {
      const name = randomUUID();
      await post(`${url}/reset`, { "x-openenv-session-id": name });
      return name;
    },
    use: (url, name) => stepWith(url, { "x-openenv-session-id": name }),
    unknown: randomUUID(),
    expected: { otherServer: "503 SESSION_ELSEWHERE", lost: "500 NO_EPISODE", unknown: "500 NO_EPISODE" },
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
    expected: { otherServer: "503", lost: "410", unknown: "404" },
  },
};

let project: Project;
let cluster: TestCluster;
/** A server that shares the journal. */
let other: TestCluster;
beforeAll(async () => {
  project = await createProject();
  const env = { JOURNAL: join(project.dir, "sessions.journal"), MAX_CONCURRENT_ENVS: "64" };
  cluster = await startCluster({ ...env, WORKERS: "2" });
  other = await startCluster({ ...env, WORKERS: "1" });
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await other?.[Symbol.asyncDispose]();
  await project?.[Symbol.asyncDispose]();
});

/** Ends all sessions. A busy worker is missing in the list, so it is read again. */
async function endAll(url: string): Promise<void> {
  const list = async () => ((await (await fetchAsOperator(`${url}/sessions`)).json()) as SessionsBody).sessions;
  const end = async () => {
    for (const { session_id } of await list()) {
      await fetch(`${url}/sessions/${session_id}`, { method: "DELETE", headers: AS_OPERATOR });
    }
    return (await list()).length;
  };
  await expect.poll(end).toBe(0);
}

describe.each(Object.entries(DOORS))("a session named by %s", (_way, { open, use, unknown, expected }) => {
  let name: string;
  beforeAll(async () => {
    name = await open(cluster.url);
  });

  test("is found here and at the other worker", async () => {
    for (let nth = 0; nth < CONNECTIONS; nth++) expect(await use(cluster.url, name)).toBe("found");
  });

  test("is held by another server", async () => {
    expect(await use(other.url, name)).toBe(expected.otherServer);
  });

  test("is unknown", async () => {
    for (let nth = 0; nth < CONNECTIONS; nth++) expect(await use(cluster.url, unknown)).toBe(expected.unknown);
  });

  test("has been lost", async () => {
    await endAll(cluster.url);
    for (let nth = 0; nth < CONNECTIONS; nth++) expect(await use(cluster.url, name)).toBe(expected.lost);
  });
});
