import { readFileSync } from "node:fs";

/** The number of file descriptors that a process may open; Infinity when the limit is unknown. */
export function descriptorLimit(pid: number | "self" = "self"): number {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, "utf8");
    return parseLimit(/^Max open files\s+(\S+)/m.exec(limits)?.[1]);
  } catch {
    if (pid !== "self") return Number.POSITIVE_INFINITY;
    const report = process.report?.getReport() as { userLimits?: { open_files?: { soft?: unknown } } } | undefined;
    return parseLimit(report?.userLimits?.open_files?.soft);
  }
}

function parseLimit(value: unknown): number {
  const limit = Number(value);
  return Number.isInteger(limit) && limit > 0 ? limit : Number.POSITIVE_INFINITY;
}
