import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import { ConfigError, ToolError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import { MAX_TIMER_MS } from "../util/async/timer.js";

/** The address of an MCP server: a URL, or a command that speaks MCP on standard input and output. */
export type McpSource =
  | { url: string | URL; headers?: Readonly<Record<string, string>> }
  | { command: string; args?: readonly string[]; env?: Readonly<Record<string, string>>; cwd?: string };

/** One connection to an MCP server. */
export interface RemoteClient {
  /** @throws ToolError (transport_error) when there is no answer. */
  list(): Promise<Tool[]>;
  /** @throws ToolError (transport_error) when there is no answer. */
  call(name: string, given: JsonObject, signal: AbortSignal): Promise<CallToolResult>;
  close(): Promise<void>;
}

/** JSON-RPC's code for invalid parameters. */
const INVALID_PARAMS = -32602;

/** @throws ToolError (transport_error) when the connection fails, ConfigError without the SDK. */
export async function connectRemote(source: McpSource): Promise<RemoteClient> {
  const sdk = await loadSdk();
  // Sessions first, because tools may have state; the revision without sessions is for servers without support.
  const { client, transport } = await open(sdk, source, "legacy").catch((error: unknown) =>
    open(sdk, source, "auto").catch(() => {
      throw unreachable(error);
    }),
  );
  return {
    // Reads all pages; the SDK limits their number.
    list: async () => {
      try {
        return (await client.listTools()).tools;
      } catch (error) {
        throw unreachable(error);
      }
    },
    call: async (name, given, signal) => {
      try {
        // The timeout is enforced by our side.
        const limits = { signal, timeout: MAX_TIMER_MS };
        return (await client.callTool({ name, arguments: given }, limits)) as CallToolResult;
      } catch (error) {
        const isRefusal = error instanceof sdk.ProtocolError && (error.code as number) === INVALID_PARAMS;
        throw isRefusal ? new ToolError("invalid_args", error.message, { cause: error }) : unreachable(error);
      }
    },
    close: async () => {
      // Without this, the server keeps the session until its timeout.
      if ("terminateSession" in transport) await transport.terminateSession().catch(() => {});
      await client.close();
    },
  };
}

type Sdk = typeof import("@modelcontextprotocol/client");

async function open(sdk: Sdk, source: McpSource, mode: "legacy" | "auto") {
  const client = new sdk.Client({ name: "openenv-ts", version: "1" }, { versionNegotiation: { mode } });
  const transport = "url" in source ? httpTransport(sdk, source) : await processTransport(source);
  try {
    await client.connect(transport);
  } catch (error) {
    await client.close().catch(() => {});
    throw error;
  }
  return { client, transport };
}

async function loadSdk(): Promise<Sdk> {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (error) {
    const message = "Tools of an MCP server require another package: npm install @modelcontextprotocol/client";
    throw new ConfigError(message, { cause: error });
  }
}

function httpTransport({ StreamableHTTPClientTransport }: Sdk, { url, headers }: Extract<McpSource, { url: unknown }>) {
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { ...headers } } });
}

async function processTransport({ command, args = [], env, cwd }: Extract<McpSource, { command: string }>) {
  const { getDefaultEnvironment, StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  return new StdioClientTransport({
    command,
    args: [...args],
    // Pass only the default variables: the environment of this process may contain secrets.
    env: { ...getDefaultEnvironment(), ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
}

function unreachable(error: unknown): ToolError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ToolError("transport_error", `The MCP server did not answer: ${reason}`, { cause: error });
}
