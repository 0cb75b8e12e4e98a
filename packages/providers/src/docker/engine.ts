import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { ProviderError } from "openenv-ts/internal";
import type { EngineAddress } from "./connection.js";

/** The HTTP API of a container engine, as much of it as is needed. */
export interface Engine {
  readonly address: EngineAddress;
  /** The answer as JSON; nothing when it is empty. @throws EngineError for a refusal, ProviderError when none comes. */
  ask<T>(method: string, path: string, call?: EngineCall): Promise<T>;
  /** The answer as bytes, at most `maxBytes` of it. */
  read(path: string, call: EngineCall & { maxBytes: number }): Promise<Buffer>;
  /** The answer line by line, each JSON. */
  lines(method: string, path: string, call: EngineCall): AsyncIterable<Record<string, unknown>>;
}

export interface EngineCall {
  query?: Readonly<Record<string, string | undefined>>;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
  /** Milliseconds for the answer where there is no signal; default 60,000. Not for `lines`. */
  timeoutMs?: number;
}

/** What ends or removes something has no deadline from outside, and is not to wait for an engine that is stuck. */
const ANSWER_MS = 60_000;

/** The engine refused: `status` is that of HTTP, the message its own. */
export class EngineError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Nothing is asked yet. */
export function createEngine(address: EngineAddress): Engine {
  const send = (method: string, path: string, call: EngineCall): Promise<IncomingMessage> => {
    const { query = {}, body, headers = {}, signal } = call;
    const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const search = new URLSearchParams(given).toString();
    const content = body === undefined ? undefined : JSON.stringify(body);
    const { socketPath, host, port, tls } = address;
    const request = (tls ? requestHttps : requestHttp)({
      ...(socketPath === undefined ? { host, port, ...tls } : { socketPath }),
      method,
      path: `${path}${search && `?${search}`}`,
      headers: {
        host: host ?? "engine",
        ...headers,
        ...(content !== undefined && {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(content),
        }),
      },
      agent: false,
      ...(signal && { signal }),
    });
    return new Promise((resolve, reject) => {
      request
        .on("response", resolve)
        .on("error", (error) => reject(signal?.aborted ? error : unreachable(address, error)));
      request.end(content);
    });
  };

  const open = async (method: string, path: string, call: EngineCall): Promise<IncomingMessage> => {
    const response = await send(method, path, call);
    const { statusCode: status = 0 } = response;
    // 304: it is as was asked for already. Another redirection means that the path is none of the engine's.
    if (status < 300 || status === 304) return response;
    throw new EngineError(status, readMessage(await readAll(response, MAX_ANSWER_BYTES)));
  };

  const answer = async (method: string, path: string, call: EngineCall & { maxBytes: number }): Promise<Buffer> => {
    const { timeoutMs = ANSWER_MS, maxBytes } = call;
    const limit = call.signal ? undefined : AbortSignal.timeout(timeoutMs);
    try {
      return await readAll(await open(method, path, { ...call, ...(limit && { signal: limit }) }), maxBytes);
    } catch (error) {
      throw limit?.aborted ? silent(address, timeoutMs) : error;
    }
  };

  return {
    address,
    async ask<T>(method: string, path: string, call: EngineCall = {}) {
      const text = (await answer(method, path, { ...call, maxBytes: MAX_ANSWER_BYTES })).toString();
      return (text === "" ? undefined : parse(text)) as T;
    },
    read: (path, call) => answer("GET", path, call),
    async *lines(method, path, call) {
      const response = await open(method, path, call);
      let rest = "";
      for await (const chunk of response.setEncoding("utf8")) {
        const lines = (rest + (chunk as string)).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line.trim()) yield parse(line) as Record<string, unknown>;
      }
      if (rest.trim()) yield parse(rest) as Record<string, unknown>;
    },
  };
}

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** What is more than `maxBytes` is left unread. */
async function readAll(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProviderError("PROVIDER_UNAVAILABLE", `This is no container engine: it answered ${text.slice(0, 100)}`);
  }
}

function readMessage(answer: Buffer): string {
  const text = answer.toString().trim();
  try {
    return String((JSON.parse(text) as { message: unknown }).message);
  } catch {
    return text.slice(0, 500);
  }
}

function silent({ name }: EngineAddress, timeoutMs: number): ProviderError {
  return new ProviderError(
    "PROVIDER_UNAVAILABLE",
    `The container engine at ${name} takes requests, but has not answered within ${timeoutMs} ms: see whether it is ` +
      "overloaded or stuck (`docker info`), and start it again if so.",
  );
}

function unreachable({ name }: EngineAddress, error: NodeJS.ErrnoException): ProviderError {
  const denied = error.code === "EACCES" || error.code === "EPERM";
  const message = denied
    ? `No permission to use the container engine at ${name}: add the user to the group that owns the socket ` +
      "(`docker`), or run a rootless engine."
    : `No container engine answers at ${name} (${error.code ?? error.message}): start it, or name another with ` +
      "DOCKER_HOST or `docker context use`. Without one, processProvider() starts an environment as a process.";
  return new ProviderError("PROVIDER_UNAVAILABLE", message, { cause: error });
}
