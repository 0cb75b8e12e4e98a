import type { LivenessBody, NotReadyReason, ReadinessBody } from "../../protocol/http.js";
import { sendJson } from "../http/respond.js";
import { type RequestContext, type Route, readQuery } from "../http/router.js";

/** Probes of an orchestrator: whether to restart the server, and whether to send it new sessions. */
export const PROBE_ROUTES: Record<string, Route> = {
  "/livez": { GET: live },
  "/readyz": { GET: ready },
};

/** Every worker answers this in its event loop. If none does, the server serves no session. */
function live({ response }: RequestContext): void {
  sendJson(response, 200, { status: "alive" } satisfies LivenessBody);
}

/**
 * `?exclude=full` ignores that reason: a full server that is taken out of rotation loses its HTTP sessions. `journal`: it
 * cannot be used, so sessions that it would keep are refused.
 */
function ready({ request, response, context }: RequestContext): void {
  const excluded = readQuery(request).getAll("exclude");
  const { draining, sessions, runtime } = context;
  const journal = runtime.statistics.journalUp === false;
  const state: Record<NotReadyReason, boolean> = {
    draining,
    paused: sessions.departure.paused,
    full: sessions.isFull,
    journal,
  };
  const reasons = (Object.keys(state) as NotReadyReason[]).filter((name) => state[name] && !excluded.includes(name));
  const body: ReadinessBody = { status: reasons.length === 0 ? "ready" : "not ready", reasons };
  sendJson(response, reasons.length === 0 ? 200 : 503, body);
}
