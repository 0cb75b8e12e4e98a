import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import * as z from "zod";
import { defineTools, type ToolContext, type ToolDeclaration, type Tools } from "../contract/tools/tools.js";
import { TOOL_ERROR_TYPES, ToolError } from "../errors.js";
import type { JsonObject } from "../protocol/messages.js";
import { ERROR_TYPE_META } from "../protocol/tools.js";
import { isObject } from "../util/is-object.js";
import { connectRemote, type McpSource, type RemoteClient } from "./remote-client.js";

export type { McpSource } from "./remote-client.js";

export interface RemoteToolsOptions {
  /** The tools to include, by the server's names; default all. */
  only?: readonly string[] | undefined;
  /** A prefix for the names, to tell them apart from other tools. */
  prefix?: string | undefined;
  /** Timeout of a call, milliseconds; default 30,000. */
  timeoutMs?: number | undefined;
}

/** The tools of an MCP server, for use in an environment. */
export interface RemoteTools {
  /** The tools for `defineContract`. */
  readonly tools: Tools;
  /** Called by the factory: each session of the environment gets its own session there, with its first call. */
  open(): RemoteToolSession;
}

export interface RemoteToolSession extends AsyncDisposable {
  /** The `tools` of the environment. */
  readonly handlers: Readonly<Record<string, RemoteHandler>>;
  /** Called by the `close` of the environment. */
  close(): Promise<void>;
}

type RemoteHandler = (given: JsonObject, context: ToolContext) => Promise<unknown>;

/**
 * Converts the tools of an MCP server, remote or a local command, to tools of an environment.
 * @throws ToolError (transport_error) when the server does not answer, OpenEnvError INVALID_TOOL for an invalid name,
 * ConfigError without the optional package `@modelcontextprotocol/client`.
 * @example
 * const remote = await toolsFromMcp({ url: "http://localhost:9000/mcp" });
 * const desk = defineContract({ name: "desk_env", tools: remote.tools });
 * export default defineEnvironment(desk, () => {
 *   const { handlers, close } = remote.open();
 *   return { reset: () => ({ observation: {} }), tools: handlers, close };
 * });
 */
export async function toolsFromMcp(source: McpSource, options: RemoteToolsOptions = {}): Promise<RemoteTools> {
  const { only, prefix = "" } = options;
  const client = await connectRemote(source);
  const listed = await client.list().finally(() => client.close());
  const missing = only?.find((name) => !listed.some((tool) => tool.name === name));
  if (missing !== undefined) {
    throw new ToolError("tool_not_found", `The MCP server has no tool "${missing}": correct \`only\`.`);
  }
  const taken = listed.filter(({ name }) => only?.includes(name) ?? true);
  const tools = taken.map((tool) => [prefix + tool.name, declare(tool, options)] as const);
  return {
    tools: defineTools(Object.fromEntries(tools)),
    open: () =>
      openSession(
        source,
        taken.map(({ name }) => [prefix + name, name]),
      ),
  };
}

function openSession(source: McpSource, names: readonly [own: string, theirs: string][]): RemoteToolSession {
  let client: Promise<RemoteClient> | undefined;
  let closed = false;
  const connected = (): Promise<RemoteClient> => {
    if (closed) throw new ToolError("transport_error", "The session with the MCP server has ended.");
    client ??= connectRemote(source).catch((error: unknown) => {
      client = undefined;
      throw error;
    });
    return client;
  };
  const close = async (): Promise<void> => {
    closed = true;
    await (await client?.catch(() => undefined))?.close();
  };
  const handlers = names.map(([own, theirs]): [string, RemoteHandler] => [
    own,
    async (given, { signal }) => unwrap(await (await connected()).call(theirs, given, signal)),
  ]);
  return { handlers: Object.fromEntries(handlers), close, [Symbol.asyncDispose]: close };
}

function declare({ name, title, description, inputSchema }: Tool, { timeoutMs }: RemoteToolsOptions): ToolDeclaration {
  return {
    description: description?.trim() || title || name,
    input: toZod(inputSchema as JsonObject),
    ...(title === undefined ? {} : { title }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

/** Schemas that are more than an object with fields are checked by the server. */
function toZod(schema: JsonObject): z.ZodObject {
  const { properties, required, $defs } = schema;
  for (const candidate of [schema, { type: "object", properties, required, $defs }]) {
    try {
      const parsed = z.fromJSONSchema(JSON.parse(JSON.stringify(candidate)) as JsonObject);
      if (parsed instanceof z.ZodObject) return parsed;
    } catch {
      // A keyword that zod does not support.
    }
  }
  return z.object(Object.fromEntries(Object.keys(isObject(properties) ? properties : {}).map(anyField)));
}

function anyField(name: string): [string, z.ZodType] {
  return [name, z.unknown().optional()];
}

/** The value of the tool: its structured content, else its text, else its other content. */
function unwrap({ content, structuredContent, isError, _meta }: CallToolResult): unknown {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (isError === true) {
    const type = TOOL_ERROR_TYPES.find((known) => known === _meta?.[ERROR_TYPE_META]);
    throw new ToolError(type ?? "execution_error", texts.join("\n") || "The tool failed without a message.");
  }
  if (isObject(structuredContent)) return isWrapped(_meta) ? structuredContent["result"] : structuredContent;
  return texts.length === content.length ? texts.join("\n") : content;
}

/** Detects how fastmcp and the servers of this package mark a value that is not an object. */
function isWrapped(meta: JsonObject | undefined): boolean {
  const mark = meta?.["fastmcp"];
  return isObject(mark) && mark["wrap_result"] === true;
}
