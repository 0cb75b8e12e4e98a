import { isAlive, type Orphan } from "@openenv-ts/providers/internal";

/** A table, one line each; `empty` when there is nothing. */
export function renderOrphans(orphans: readonly Orphan[], empty: string): string {
  if (orphans.length === 0) return empty;
  const rows = orphans.map(({ id, provider, source, url = "-", startedAt, owner }) => {
    const age = describeAge(Date.now() - Date.parse(startedAt));
    return [id, provider, source, url, age, isAlive(owner) ? `${owner.pid}@${owner.host}` : "gone"];
  });
  const table = [["ID", "PROVIDER", "SOURCE", "URL", "AGE", "OWNER"], ...rows];
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")).join("\n");
}

/** Names as everywhere in JSON that the command line prints. */
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
