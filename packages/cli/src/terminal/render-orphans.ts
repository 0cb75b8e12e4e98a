import { isAlive, type Orphan } from "@openenv-ts/providers/internal";
import { renderTable } from "./render-table.js";

/** A table with one row for each orphan, or `empty` when there is none. */
export function renderOrphans(orphans: readonly Orphan[], empty: string): string {
  if (orphans.length === 0) return empty;
  const rows = orphans.map(({ id, provider, source, url = "-", startedAt, owner }) => {
    const age = describeAge(Date.now() - Date.parse(startedAt));
    return [id, provider, source, url, age, isAlive(owner) ? `${owner.pid}@${owner.host}` : "gone"];
  });
  return renderTable(["ID", "PROVIDER", "SOURCE", "URL", "AGE", "OWNER"], rows);
}

/** The orphans as JSON. */
export function renderJson(orphans: readonly Orphan[]): string {
  const entries = orphans.map(({ id, provider, source, url = null, startedAt, owner }) => {
    return { id, provider, source, url, startedAt, owner: { pid: owner.pid, host: owner.host, alive: isAlive(owner) } };
  });
  return JSON.stringify(entries, null, 2);
}

function describeAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
