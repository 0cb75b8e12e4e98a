import { expect } from "vitest";
import type { RunningServer } from "../../packages/openenv/src/server/types.js";
import { openTestSocket } from "../sockets/socket.js";

const STEP = { action: { amount: 100 } };

/**
 * Expects that a peer without a token at `url` cannot list, end or step sessions of `server`, and cannot pause it. The
 * server has a counter and no token.
 */
export async function expectNoOperator(server: RunningServer, url: string): Promise<void> {
  await using player = await openTestSocket(`${server.url}/ws`);
  await player.ask({ type: "reset", data: {} });
  const ofSocket = (await server.sessions())[0]?.session_id ?? "";
  const begun = await fetch(`${server.url}/reset`, { method: "POST" });
  const ofHttp = begun.headers.get("openenv-session") ?? "";
  expect([ofSocket, ofHttp]).toEqual([
    expect.stringMatching(/^[0-9a-f-]{36}$/),
    expect.stringMatching(/^[0-9a-f-]{36}$/),
  ]);

  const closed = { status: 401, body: { code: "UNAUTHORIZED", detail: expect.stringContaining("OPERATOR_TOKEN") } };
  for (const path of ["/sessions", "/metrics", "/web/server"])
    expect(await ask(url, "GET", path)).toMatchObject(closed);
  for (const id of [ofSocket, ofHttp]) expect(await ask(url, "DELETE", `/sessions/${id}`)).toMatchObject(closed);
  expect(await ask(url, "POST", "/sessions/pause")).toMatchObject(closed);

  // The session of a socket has no public id, and the eight characters of an id in the log are not an id.
  const unknown = { status: 404, body: { code: "SESSION_ERROR" } };
  for (const id of [ofSocket, ofSocket.slice(0, 8), ofHttp.slice(0, 8)]) {
    expect(await ask(url, "POST", "/step", id)).toMatchObject(unknown);
  }
  // Without an id the step has a new environment.
  expect(await ask(url, "POST", "/step")).toMatchObject({ status: 200, body: { observation: { count: 100 } } });
  expect(await player.ask({ type: "step", data: { amount: 1 } })).toMatchObject({
    data: { observation: { count: 1 } },
  });
  expect(await ask(server.url, "POST", "/step", ofHttp)).toMatchObject({ body: { observation: { count: 100 } } });
}

async function ask(url: string, method: string, path: string, session?: string) {
  const response = await fetch(url + path, {
    method,
    headers: { "content-type": "application/json", ...(session && { "openenv-session": session }) },
    ...(path === "/step" && { body: JSON.stringify(STEP) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
