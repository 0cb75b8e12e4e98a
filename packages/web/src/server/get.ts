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
export async function ask<T>(path: string, { body, signal }: AskOptions = {}): Promise<T> {
  const headers: Record<string, string> = { accept: "application/json", ...tokenHeaders() };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(BASE + path, {
      method: body === undefined ? "GET" : "POST",
      headers,
      cache: "no-store",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RequestError(0, "The server cannot be reached.");
  }
  const text = await response.text();
  if (!response.ok) throw new RequestError(response.status, describe(response.status, text));
  return JSON.parse(text) as T;
}

/** What the server said about a failure, as a message that can be shown. */
export function describe(status: number, text: string): string {
  try {
    const { detail, message } = JSON.parse(text) as Record<string, unknown>;
    const reason = detail ?? message;
    if (typeof reason === "string") return `${reason} (${status})`;
  } catch {}
  return `The server answered ${status}.`;
}
