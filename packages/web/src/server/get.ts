import { BASE } from "./base.js";
import { tokenHeaders } from "./token.js";

/** A failed request: `status` is 0 when the server could not be reached. */
export class RequestError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The token is missing, wrong, or without the right. */
export function isRefusal(error: unknown): boolean {
  return error instanceof RequestError && (error.status === 401 || error.status === 403);
}

export interface AskOptions {
  body?: unknown;
  signal?: AbortSignal;
}

/**
 * Fetches JSON from a route of the server with the tab's token.
 * @throws RequestError with a message that can be shown.
 */
export async function ask<T>(path: string, options: AskOptions = {}): Promise<T> {
  return (await request(path, "application/json", options)).json() as Promise<T>;
}

/**
 * Sends a request with the tab's token: a POST if it has a body.
 * @throws RequestError with a message that can be shown, also for a response that is an error.
 */
export async function request(path: string, accept: string, { body, signal }: AskOptions): Promise<Response> {
  const headers = { accept, ...tokenHeaders() };
  const post = { method: "POST", headers: { ...headers, "content-type": "application/json" } };
  const sent = body === undefined ? { headers } : { ...post, body: JSON.stringify(body) };
  let response: Response;
  try {
    response = await fetch(BASE + path, { ...sent, cache: "no-store", signal: signal ?? null });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RequestError(0, "The server cannot be reached.");
  }
  if (response.ok) return response;
  throw new RequestError(response.status, describe(response.status, await response.text()));
}

/** What the server said about a failure, as a message that can be shown. */
function describe(status: number, text: string): string {
  try {
    const { detail, message } = JSON.parse(text) as Record<string, unknown>;
    const reason = detail ?? message;
    if (typeof reason === "string") return `${reason} (${status})`;
  } catch {}
  return `The server answered ${status}.`;
}
