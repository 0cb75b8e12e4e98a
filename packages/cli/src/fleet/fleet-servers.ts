import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionError, OpenEnvError, RemoteError } from "openenv-ts/client";
import { isObject, loadClient, parseAddress } from "openenv-ts/internal";
import * as z from "zod";
import { serverToken } from "../server-token.js";
import { printProgress } from "../terminal/output.js";

const TIMEOUT_MS = 10_000;
const POLL_MS = 500;
const VIEW = "/web/server?sort=state&limit=1";

/** The part of `GET /web/server` that is shown. A server of another version may lack the fields that are `nullish`. */
const serverView = z.object({
  server_version: z.string(),
  name: z.string().nullish(),
  version: z.string().nullish(),
  draining: z.boolean().nullish(),
  paused: z.boolean().nullish(),
  journal: z.string().nullish(),
  capacity: z.object({ active_sessions: z.int(), max_sessions: z.int() }),
  in_use: z.int().nullish(),
  waiting: z.int(),
  silent_workers: z.array(z.unknown()),
  sessions: z.array(
    z.looseObject({ session_id: z.string(), state: z.string(), step_count: z.int(), busy_s: z.number().nullable() }),
  ),
});

/** A server, and what it answered or why it did not. */
export type FleetServer = { url: string } & ({ view: z.infer<typeof serverView> } | { error: OpenEnvError });

/** Asks a server for its view, or pauses or resumes it first. Only a server of openenv-ts gets such a request. */
export async function askServer(url: string, act?: "pause" | "resume"): Promise<FleetServer> {
  const { createHttpClient } = await loadClient();
  const token = serverToken();
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const http = createHttpClient(parseAddress(url), { headers, timeoutMs: TIMEOUT_MS });
  try {
    const view = readView(await http.get(VIEW));
    if (act === undefined) return { url, view };
    await http.post(`/sessions/${act}`, {});
    return { url, view: readView(await http.get(VIEW)) };
  } catch (error) {
    if (error instanceof OpenEnvError) return { url, error: explain(url, error) };
    throw error;
  }
}

/** Pauses the servers and asks them until their sessions have ended, for at most `seconds`. */
export async function drainServers(urls: readonly string[], seconds: number): Promise<FleetServer[]> {
  const deadline = performance.now() + seconds * 1000;
  let servers = await Promise.all(urls.map((url) => askServer(url, "pause")));
  for (;;) {
    const sessions = servers.reduce((sum, server) => sum + countInUse(server), 0);
    if (sessions === 0 || performance.now() >= deadline) return servers;
    printProgress(`waiting for ${sessions} sessions`);
    await sleep(Math.min(POLL_MS, deadline - performance.now()));
    servers = await Promise.all(servers.map((one) => (countInUse(one) > 0 ? askServer(one.url) : one)));
  }
}

/** The sessions and waiting peers that a drain waits for: none of a server that did not answer or is no longer paused. */
export function countInUse(server: FleetServer): number {
  if ("error" in server || isOpen(server)) return 0;
  const { in_use, capacity, waiting } = server.view;
  return in_use ?? capacity.active_sessions + waiting;
}

/** True when the server opens sessions; after a drain it was restarted or resumed. */
export function isOpen(server: FleetServer): boolean {
  return "view" in server && server.view.paused === false && server.view.draining === false;
}

function explain(url: string, error: OpenEnvError): OpenEnvError {
  const status = error instanceof RemoteError && error.details["status"];
  if (status === 401) {
    return new RemoteError("UNAUTHORIZED", `${error.message}. This command sends the token in OPENENV_TOKEN.`);
  }
  if (status !== 404 && error.code !== "PROTOCOL_ERROR") return error;
  const reason = `is not a server of openenv-ts, or not of this version: ${error.message}`;
  return new ConnectionError("PROTOCOL_ERROR", `${url} ${reason}`);
}

function readView(body: unknown): z.infer<typeof serverView> {
  const { data, error } = serverView.safeParse(body);
  if (data !== undefined) return data;
  const version = isObject(body) ? body["server_version"] : undefined;
  const reason = `${error.issues[0]?.path.join(".") || "the answer"}: ${error.issues[0]?.message}`;
  throw new ConnectionError("PROTOCOL_ERROR", `it reports the version ${version ?? "-"}, and ${reason}`);
}
