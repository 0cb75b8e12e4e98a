import { renderTable } from "../terminal/render-table.js";
import type { FleetServer } from "./fleet-servers.js";

/** What is printed of a server. `problems` says why it is not healthy; it is empty when it is. */
export function describeServer(server: FleetServer) {
  const { url } = server;
  if ("error" in server) {
    const { code, message } = server.error;
    return { url, problems: [code], error: { code, message } };
  }
  const { capacity, silent_workers, sessions, ...view } = server.view;
  const { active_sessions, max_sessions } = capacity;
  const problems = [
    ...(view.draining ? ["draining"] : []),
    ...(view.paused ? ["paused"] : []),
    ...(view.journal === "unavailable" ? ["journal unavailable"] : []),
    ...(silent_workers.length > 0 ? [`silent workers: ${silent_workers.length}`] : []),
  ];
  // Only a call that takes longer than a step should. The whole id would give access to the session.
  const slowest = sessions
    .filter(({ state }) => state === "slow")
    .map((session) => ({ ...session, session_id: /^(?:w\d+-)?.{0,8}/.exec(session.session_id)?.[0] }));
  return { url, problems, ...view, active_sessions, max_sessions, slowest: slowest[0] ?? null };
}

/** A table with one row for each server. */
export function renderFleet(servers: readonly FleetServer[]): string {
  const rows = servers.map(describeServer).map((one) => {
    const state = one.problems.join(", ") || "healthy";
    if ("error" in one) return [one.url, "-", "-", "-", "-", "-", state, "-"];
    const { slowest, name, version, server_version, waiting, journal } = one;
    const call =
      slowest && `${slowest.session_id} ${slowest.busy_s?.toFixed(0)} s in a call after step ${slowest.step_count}`;
    const sessions = `${one.active_sessions}/${one.max_sessions}`;
    const environment = `${name ?? "-"} ${version ?? ""}`.trim();
    return [one.url, environment, server_version, sessions, String(waiting), journal ?? "-", state, call ?? "-"];
  });
  return renderTable(["URL", "ENVIRONMENT", "SERVER", "SESSIONS", "WAITING", "JOURNAL", "STATE", "SLOWEST"], rows);
}
