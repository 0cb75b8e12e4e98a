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
  /** Only these, by the server's names; default all. */
  only?: readonly string[] | undefined;
  /** Stands before the names, so that they differ from others. */
  prefix?: string | undefined;
  /** Milliseconds a call may take; default 30,000. */
  timeoutMs?: number | undefined;
}

/** The tools of a server of MCP, to be offered by an environment. */
export interface RemoteTools {
  /** For `defineContract`. */
  readonly tools: Tools;
  /** For the factory: each session of the environment has a session of its own there, from its first call on. */
  open(): RemoteToolSession;
}

export interface RemoteToolSession extends AsyncDisposable {
  /** For the `tools` of the environment. */
  readonly handlers: Readonly<Record<string, RemoteHandler>>;
  /** For the `close` of the environment. */
  close(): Promise<void>;
}

type RemoteHandler = (given: JsonObject, context: ToolContext) => Promise<unknown>;

/**
 * Turns the tools of a server of MCP, remote or a command of this machine, into tools of an environment.
 * @throws ToolError (transport_error) when the server cannot be asked, OpenEnvError INVALID_TOOL for a name that cannot
 * be taken, ConfigError without the optional package `@modelcontextprotocol/client`.
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
    throw new ToolError("tool_not_found", `The MCP server has no tool "${missing}": see \`only\`.`);
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

/** What is more than an object with fields is left to the server to check. */
function toZod(schema: JsonObject): z.ZodObject {
  const { properties, required, $defs } = schema;
  for (const candidate of [schema, { type: "object", properties, required, $defs }]) {
    try {
      const parsed = z.fromJSONSchema(JSON.parse(JSON.stringify(candidate)) as JsonObject);
      if (parsed instanceof z.ZodObject) return parsed;
    } catch {
      // A keyword that zod does not know.
    }
  }
  return z.object(Object.fromEntries(Object.keys(isObject(properties) ? properties : {}).map(anyField)));
}

function anyField(name: string): [string, z.ZodType] {
  return [name, z.unknown().optional()];
}

/** The value of the tool: what is structured, else the text, else whatever content there is. */
function unwrap({ content, structuredContent, isError, _meta }: CallToolResult): unknown {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (isError === true) {
    const type = TOOL_ERROR_TYPES.find((known) => known === _meta?.[ERROR_TYPE_META]);
    throw new ToolError(type ?? "execution_error", texts.join("\n") || "The tool failed and says no more.");
  }
  if (isObject(structuredContent)) return isWrapped(_meta) ? structuredContent["result"] : structuredContent;
  return texts.length === content.length ? texts.join("\n") : content;
}

/** As fastmcp and the servers of this package mark a value that is no object. */
function isWrapped(meta: JsonObject | undefined): boolean {
  const mark = meta?.["fastmcp"];
  return isObject(mark) && mark["wrap_result"] === true;
}
