/** The rows of the study that have been measured, in `rows.json`. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What is known of each row by its id: `{ commit, date, minutes, machine, node, versions, … }`. */
export function readProgress(dir) {
  const file = join(dir, "rows.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}

/** Adds a row that has been measured completely. The file is replaced at once, so a stop loses no other row. */
export function saveRow(dir, id, facts) {
  mkdirSync(dir, { recursive: true });
  const file = join(dir, "rows.json");
  writeFileSync(`${file}.new`, `${JSON.stringify({ ...readProgress(dir), [id]: facts }, null, 1)}\n`);
  renameSync(`${file}.new`, file);
}

/**
 * Sorts the rows into those that have been measured at this commit, those that can be measured here, and those that cannot,
 * with the reason. `minutes` of a row are those that it took, at another commit too, or an estimate.
 */
export function planProgress(rows, { progress, commit }) {
  const [done, left, missing] = [[], [], []];
  for (const row of rows) {
    const facts = progress[row.id];
    const planned = { ...row, minutes: facts?.minutes ?? row.minutes };
    const reason = facts?.commit === commit ? undefined : row.findMissing();
    if (facts?.commit === commit) done.push(planned);
    else if (reason === undefined) left.push(planned);
    else missing.push({ ...planned, reason });
  }
  return { done, left, missing };
}

/** One line for each row: `done`, `left` with its minutes, or why it cannot be measured here. */
export function renderList({ done, left, missing }) {
  const sum = (rows) => rows.reduce((total, { minutes }) => total + minutes, 0);
  return [
    ...done.map(({ id, minutes }) => `done     ${time(minutes)}  ${id}`),
    ...left.map(({ id, minutes }) => `left     ${time(minutes)}  ${id}`),
    ...missing.map(({ id, minutes, reason }) => `missing  ${time(minutes)}  ${id}: ${reason}`),
    `${done.length} rows done in ${time(sum(done))}, ${left.length} left for ${time(sum(left))}, ` +
      `${missing.length} cannot be measured here (${time(sum(missing))})`,
  ].join("\n");
}

function time(minutes) {
  const whole = Math.round(minutes);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")} h`;
}
