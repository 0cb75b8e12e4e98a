/** All rows of the study, in the order in which they are measured. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { climb } from "./ladder.mjs";
import { PARTS } from "./parts.mjs";
import { findMissing, startSetup } from "./servers.mjs";

/** Seconds to start a setup and the load for one batch, and between two bursts. */
const START_SECONDS = 4;
const SETTLE_SECONDS = 1;

/**
 * A row is `{ id, minutes, findMissing, measure }`. One of the grid is a setup at one wait: `measure` writes its bursts to
 * `grid/<wait>s/<setup>` in `dir`. Any other is a part, and `measure` resolves with the rows of its table.
 */
export function listRows(plan, { quick, dir, image }) {
  const { batches, waits } = quick ? plan.quick : plan.grid;
  const grid = Object.entries(waits).flatMap(([wait, reps]) =>
    Object.entries(plan.subjects).map(([name, setup]) => {
      const ladder = { wait: Number(wait), reps, batches: batchesOf(setup, batches) };
      return {
        id: `grid/${name}/${wait}`,
        minutes: estimate(ladder, setup),
        findMissing: () => findMissing(setup),
        measure: () => measureGrid(ladder, { setup, timeout: plan.timeout, image, to: folderOf(dir, name, wait) }),
      };
    }),
  );
  const parts = Object.entries(PARTS).map(([id, part]) => ({
    id,
    minutes: quick ? 1 : part.minutes,
    findMissing: part.findMissing ?? (() => undefined),
    measure: async () => ({ rows: await part.run({ quick, image }), ...part.describeRun?.({ quick }) }),
  }));
  return [...grid, ...parts];
}

/** The folder with the bursts of a setup at one wait. */
export function folderOf(dir, name, wait) {
  return join(dir, "grid", `${wait}s`, name);
}

/** Only the rows whose id begins with one of these names, separated by commas; all without. */
export function chooseRows(rows, only) {
  if (only === undefined) return rows;
  const names = only.split(",");
  const unknown = names.find((name) => !rows.some(({ id }) => id.startsWith(name)));
  if (unknown !== undefined) {
    const ids = [...new Set(rows.map(({ id }) => id.replace(/\/[\d.]+$/, "")))];
    throw new Error(`no row begins with "${unknown}": ${ids.join(", ")}`);
  }
  // A complete id is that row alone, and not "grid/node-1-worker/10" for "grid/node-1-worker/1" too.
  const isChosen = (id, name) => (rows.some((row) => row.id === name) ? id === name : id.startsWith(name));
  return rows.filter(({ id }) => names.some((name) => isChosen(id, name)));
}

/** The same batches for all, and the capacity of a setup that has one below the largest batch. */
function batchesOf({ workers, servers = 1, capacity = Number.POSITIVE_INFINITY }, batches) {
  const all = workers * servers * capacity;
  return all < Math.max(...batches) ? [...new Set([...batches, all])].toSorted((a, b) => a - b) : batches;
}

function estimate({ wait, reps, batches }, { perSecond, until = Number.POSITIVE_INFINITY }) {
  const seconds = batches
    .filter((batch) => batch <= until)
    .map((batch) => START_SECONDS + (reps + 1) * (wait + batch / perSecond + SETTLE_SECONDS));
  return seconds.reduce((sum, one) => sum + one, 0) / 60;
}

/** An interrupted row leaves nothing: its folder is copied to its place when it is complete. */
async function measureGrid(ladder, { setup, timeout, image, to }) {
  const from = mkdtempSync(join(tmpdir(), "openenv-study-"));
  try {
    const start = async () => startSetup(setup, setup.start === "docker" ? await image() : undefined);
    await climb(ladder, { timeout, mode: setup.mode, start, dir: from });
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true });
  } finally {
    rmSync(from, { recursive: true, force: true });
  }
  return {};
}
