import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, expect } from "vitest";
import { defineEnvironment } from "../../packages/openenv/src/index.js";
import { serve } from "../../packages/openenv/src/serve.js";
import type { RunningServer, ServeOptions } from "../../packages/openenv/src/server/types.js";
import { defineCounter } from "./counter.js";
import { defineDesk } from "./tool-environment.js";

export interface OpenMcpOptions {
  headers?: Record<string, string>;
  /** `newest` uses the revision without sessions if the server supports it. */
  revision?: "newest";
}

/** Starts servers and official MCP clients for tests; they are closed after each test. */
export function useMcp() {
  const cleanup: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of cleanup.splice(0).reverse()) await end();
  });
  return {
    /** `bare` serves an environment without tools, `broken` one whose factory fails. */
    async start(options: ServeOptions = {}, { bare = false, broken = false } = {}) {
      const { environment, log } = defineDesk();
      const fail = (): never => {
        throw new Error("no desk");
      };
      const failing = defineEnvironment(environment.contract, fail);
      const served = bare ? defineCounter().environment : broken ? failing : environment;
      const server = await serve(served, { port: 0, logLevel: "silent", graceMs: 300, ...options });
      cleanup.push(() => server.close());
      return { server, log, active: () => server.capacity().active_sessions };
    },
    async open({ url }: Pick<RunningServer, "url">, { headers = {}, revision }: OpenMcpOptions = {}) {
      const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } });
      const mode = revision === undefined ? "legacy" : "auto";
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
      await client.connect(transport);
      cleanup.push(() => client.close());
      return { client, transport };
    },
  };
}

/** The common fields of JSON-RPC requests. */
export const rpc = { jsonrpc: "2.0", id: 1 };
/** The `accept` header that MCP requires. */
export const MCP_ACCEPT = "application/json, text/event-stream";
export const INITIALIZE = {
  ...rpc,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } },
};

/** Sends a request like an MCP client. */
export async function send(
  url: string,
  body: object | string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: "POST",
    headers: { accept: MCP_ACCEPT, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Initializes; returns the header that names the new session. */
export async function initialize(url: string, headers?: Record<string, string>): Promise<{ "mcp-session-id": string }> {
  const response = await send(url, INITIALIZE, headers);
  await response.text();
  return { "mcp-session-id": response.headers.get("mcp-session-id") ?? "" };
}

/** Opens the stream of a session and closes it; retries while the server has not noticed the end of an earlier one. */
export async function openAndCutStream(url: string, headers: Record<string, string>): Promise<void> {
  const open = async () => {
    const cut = new AbortController();
    const stream = { headers: { accept: "text/event-stream", ...headers }, signal: cut.signal };
    const { status, headers: answered } = await fetch(`${url}/mcp`, stream);
    cut.abort();
    return [status, answered.get("content-type")];
  };
  await expect.poll(open).toEqual([200, "text/event-stream"]);
}
