import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { ProviderError } from "openenv-ts";
import type { EngineAddress } from "./connection.js";

/** The part of a container engine's HTTP API that we use. */
export interface Engine {
  readonly address: EngineAddress;
  /**
   * Returns the response as JSON, undefined when it is empty.
   * @throws EngineError for an error response, ProviderError for no response.
   */
  ask<T>(method: string, path: string, call?: EngineCall): Promise<T>;
  /** Returns the first `maxBytes` bytes of the response. */
  read(path: string, call: EngineCall & { maxBytes: number }): Promise<Buffer>;
  /** Yields the lines of the response, each parsed as JSON. */
  lines(method: string, path: string, call: EngineCall): AsyncIterable<Record<string, unknown>>;
}

export interface EngineCall {
  query?: Readonly<Record<string, string | undefined>>;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
  /** Milliseconds to wait for the response without a signal; default 60,000. Not for `lines`. */
  timeoutMs?: number;
}

/** Calls that stop or remove something have no deadline of a start, and must not wait for a stuck engine forever. */
const ANSWER_MS = 60_000;

/** An error response of the engine: `status` is the HTTP status, the message is the engine's. */
export class EngineError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Creates a client of the engine; sends no request. */
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
    // 304: the resource is already in the requested state. Another redirect means that the engine does not know the
    // path.
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

/** Stops reading after `maxBytes`. */
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
    throw new ProviderError(
      "PROVIDER_UNAVAILABLE",
      `This is not a container engine: it answered ${text.slice(0, 100)}`,
    );
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
    `The container engine at ${name} accepts requests, but did not respond within ${timeoutMs} ms. Check whether it is ` +
      "overloaded or stuck (`docker info`), and restart it if so.",
  );
}

function unreachable({ name }: EngineAddress, error: NodeJS.ErrnoException): ProviderError {
  const denied = error.code === "EACCES" || error.code === "EPERM";
  const message = denied
    ? `Permission denied to the container engine at ${name}. Add the user to the group that owns the socket ` +
      "(`docker`), or run a rootless engine."
    : `Could not connect to a container engine at ${name} (${error.code ?? error.message}). Start it, or select another with ` +
      "DOCKER_HOST or `docker context use`. processProvider() starts an environment without a container engine.";
  return new ProviderError("PROVIDER_UNAVAILABLE", message, { cause: error });
}
