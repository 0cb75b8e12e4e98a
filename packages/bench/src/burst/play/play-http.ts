import { once } from "node:events";
import type { Socket } from "node:net";
import { isObject, parseAddress } from "openenv-ts/internal";
import { NO_SESSION, SESSION_HEADER } from "openenv-ts/protocol";
import { LoadFailure } from "../../failure.js";
import type { ConnectTarget } from "../../raw-session.js";
import type { PlayJob, PlayOn } from "../types.js";
import { headerOf, type ReceivedResponse, requestHttp } from "./http-request.js";

/**
 * Plays over HTTP on one keep-alive connection. When the reset opens a session, its id is sent with the step and the
 * session is closed at the end. A stateless server, such as the Python package, answers the step from a new
 * environment.
 */
export function createHttpPlay(target: ConnectTarget, { action }: PlayJob): PlayOn {
  const address = parseAddress(target.url);
  const render = (path: string, body: object | string, session?: string): string =>
    renderRequest(address.http(path), body, { authorization: target.authorization, session });
  const reset = render("/reset", {});
  const step = JSON.stringify({ action });
  return async (socket, played) => {
    await connected(socket, target.secure);
    played.connected();
    const first = await requestHttp(socket, reset);
    played.wasReset(readResult(first));
    const named = headerOf(first.head, SESSION_HEADER);
    const session = named === undefined || named === NO_SESSION ? undefined : named;
    const answer = await requestHttp(socket, render("/step", step, session));
    played.stepped(readResult(answer));
    return async () => {
      if (session !== undefined) await requestHttp(socket, render("/mcp", closing(session), session)).catch(() => {});
      socket.destroy();
    };
  };
}

function closing(session: string): object {
  return { jsonrpc: "2.0", id: 1, method: "openenv/session/close", params: { session_id: session } };
}

async function connected(socket: Socket, secure: boolean): Promise<void> {
  await once(socket, secure ? "secureConnect" : "connect");
}

interface Sent {
  authorization: string;
  session: string | undefined;
}

function renderRequest(url: string, body: object | string, { authorization, session }: Sent): string {
  const { host, pathname, search } = new URL(url);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const header = session === undefined ? "" : `${SESSION_HEADER}: ${session}\r\n`;
  return (
    `POST ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n${authorization}${header}` +
    `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  );
}

function readResult({ status, body }: ReceivedResponse): Record<string, unknown> {
  const data = parseObject(body);
  if (status === 200 && data !== undefined && "observation" in data) return data;
  const code = data?.["code"];
  const type = typeof code === "string" ? code : status === 200 ? "PROTOCOL_ERROR" : `HTTP_${status}`;
  throw new LoadFailure(type, `${status}: ${body.slice(0, 200)}`);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
