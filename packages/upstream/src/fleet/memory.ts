import { readdir, readFile } from "node:fs/promises";

/** Files that are read at the same time: the system has other work. */
const AT_ONCE = 32;

/** The resident memory of process groups by their leaders, bytes; empty where there is no /proc. */
export async function measureGroups(
  leaders: readonly (number | undefined)[],
): Promise<Map<number | undefined, number>> {
  const groups = new Map(
    leaders.filter((leader) => leader !== undefined).map((leader) => [leader as number | undefined, 0]),
  );
  if (process.platform !== "linux" || groups.size === 0) return groups;
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const readers = Array.from({ length: AT_ONCE }, async () => {
    for (let pid = pids.pop(); pid !== undefined; pid = pids.pop()) {
      const text = await readFile(`/proc/${pid}/status`, "latin1").catch(() => "");
      const group = Number(/^NSpgid:\s*(\d+)/m.exec(text)?.[1]);
      const kib = Number(/^VmRSS:\s*(\d+)/m.exec(text)?.[1] ?? 0);
      const sum = groups.get(group);
      if (sum !== undefined) groups.set(group, sum + kib * 1024);
    }
  });
  await Promise.all(readers);
  return groups;
}
