/** The rows of the study that are no bursts of the grid, in the order in which they are measured. */
import { medianOf, renderReport } from "@openenv-ts/bench";
import { drawSamples } from "./figures.mjs";
import * as bystander from "./parts/bystander.mjs";
import * as containers from "./parts/containers.mjs";
import * as messages from "./parts/messages.mjs";
import * as servers from "./parts/servers.mjs";
import * as training from "./parts/training.mjs";
import * as wordle from "./parts/wordle.mjs";

/**
 * A part has a `title`, its `minutes`, `run({ quick, image })`, which resolves with rows, `say(value)`, which returns the
 * findings, and its `picture`: the rows with this `unit`. `describeRun` adds facts of the run, such as its seed, and
 * `findMissing` returns why it cannot be measured here.
 */
export const PARTS = { messages, containers, wordle, servers, bystander, training };

/** The section of a part that has been measured. */
export function describePart(name, { rows, machine, date, notes = [] }) {
  const { title, say, picture } = PARTS[name];
  const subjects = [...new Set(rows.flatMap(({ samples }) => Object.keys(samples)))];
  const value = (id, subject = subjects[0]) => {
    const samples = rows.find((row) => row.id === id)?.samples ?? {};
    return subject in samples ? medianOf(samples, subject) : undefined;
  };
  const [, table] = renderReport({ title, facts: {}, subjects, rows, notes: [] }).split("\n\n");
  const drawn = rows.filter(({ unit }) => unit === picture.unit);
  return {
    ...{ name, title, table: table.trim() },
    findings: say(value, { rows, subjects }),
    figure: drawSamples({ ...picture, caption: `Machine: ${machine}.` }, drawn),
    notes: [...notes, `Measured on ${date}: ${machine}.`],
  };
}
