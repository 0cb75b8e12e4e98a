/** Measures the headline claims again, in a short run. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../scripts/root.mjs";
import { evaluate, Reports } from "./rows.mjs";

/**
 * Runs `npm run bench -- <report> --quick` with the parts of the claims that have `quick`. Returns, for each of their
 * ratios, the value now and that of the report; undefined for what could not be measured.
 */
export function measureQuick({ root, claims }) {
  const reports = new Reports(root);
  const headlines = claims.filter(({ quick }) => quick !== undefined);
  return [...new Set(headlines.map(({ report }) => report))].flatMap((report) => {
    const own = headlines.filter((claim) => claim.report === report);
    const now = runBench(report, [...new Set(own.flatMap(({ quick }) => quick.split(",")))]);
    // Absolute values are those of the machine.
    const ratios = own.flatMap(({ rows }) => rows.filter((row) => row.includes(" / ")));
    return ratios.map((row) => ({
      row: `${report} ${row}`,
      now: tryTo(() => evaluate(row, () => now)),
      reported: evaluate(row, () => reports.rows(report)),
    }));
  });
}

/** A headline is an advantage: it must still be one, and at least half of it. */
export function isKept({ now, reported }) {
  if (now === undefined) return false;
  return reported > 1 ? now > 1 && now >= reported / 2 : now < 1 && now <= reported * 2;
}

function runBench(name, parts) {
  const dir = mkdtempSync(join(tmpdir(), "openenv-claims-"));
  try {
    const file = join(dir, "rows.json");
    const args = [join(ROOT, "scripts/bench.mjs"), name, "--quick", "--only", parts.join(","), "--json", file];
    const { status } = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    if (status !== 0) throw new Error(`npm run bench -- ${name} failed`);
    return new Map(JSON.parse(readFileSync(file, "utf8")).rows.map(({ id, samples }) => [id, samples]));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function tryTo(work) {
  try {
    return work();
  } catch {
    return undefined;
  }
}
