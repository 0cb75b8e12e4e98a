/** Writes STUDY.md, study.csv and the pictures from the rows that have been measured. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { readResults, renderCsv } from "@openenv-ts/bench";
import { renderPicture, writeFigure } from "./figures.mjs";
import { describeGrid, findLargest, gridRows } from "./grid.mjs";
import { describePart, PARTS } from "./parts.mjs";
import { readProgress } from "./progress.mjs";
import { folderOf } from "./rows.mjs";
import { renderSeconds, renderTable, three, whole } from "./text.mjs";

const LIMITS = join(import.meta.dirname, "limits.md");
const LEFT_OUT = join(import.meta.dirname, "left-out.md");

/** `waits` are the repetitions by wait; `progress` has the rows that are done, left, and missing on this machine. */
export async function writeReport(plan, { waits, places, progress }) {
  const facts = readProgress(places.dir);
  const bursts = readBursts(facts, places.dir);
  const parts = Object.keys(PARTS).filter((name) => name in facts);
  const sections = [...describeGrid(bursts), ...parts.map((name) => describePart(name, facts[name]))];
  const pictures = join(places.dir, "figures");
  rmSync(pictures, { recursive: true, force: true });
  for (const { name, figure } of sections) if (figure) await writeFigure(pictures, name, figure);
  const rows = [...gridRows(bursts), ...parts.flatMap((name) => facts[name].rows)];
  const used = new Map(rows.map((row) => [row.id, row]));
  if (used.size < rows.length) throw new Error("two rows of the study have the same id");
  writeFileSync(places.csv, renderCsv(rows));
  const fromReport = (place) => relative(dirname(places.report), place);
  const text = [
    `# Scaling study\n\n${renderFacts(facts)}`,
    explain(plan.timeout, waits, { csv: fromReport(places.csv), grid: fromReport(join(places.dir, "grid")) }),
    ...sections.map((section) => renderSection(section, fromReport(pictures))),
    ...(bursts.length === 0 ? [] : [renderPublished(plan, bursts), readFileSync(LIMITS, "utf8").trim()]),
    renderLeft(progress),
  ];
  writeFileSync(places.report, `${text.join("\n\n")}\n`);
}

function explain(timeout, waits, { csv, grid }) {
  const repetitions = Object.entries(waits).map(([wait, reps]) => `${reps} with steps of ${wait} s`);
  return `Each finding is computed from the rows of the table below it. The values are in [study.csv](${csv}), and every burst is in
[the folder of its setup](${grid}), which \`openenv bench report\` reads. A burst opens all sessions at once; each connects, resets,
steps once and closes, within ${timeout} s. The load is \`openenv bench\` on the same machine. Each batch has a new server, whose first
burst is reported apart; then come the repetitions: ${repetitions.join(", ")}.
Percentiles are those of the requests of all repetitions together, and in parentheses are the smallest and the largest repetition.
The largest batch is the largest of which at least 95 % succeeded over all repetitions; a setup stops at its first batch below
that. ≥: no larger batch was tried. Tables and findings have the largest batch alone, study.csv each batch. Times count from the
start of the burst, so they include the delay of the load. °: the load took more than a tenth of a request's median to
start all requests, or was that late to read answers. Processor times are those of one burst, of the server and of the load.`;
}

function readBursts(facts, dir) {
  const folders = Object.keys(facts).flatMap((id) => {
    const [, name, wait] = /^grid\/(.+)\/([\d.]+)$/.exec(id) ?? [];
    const folder = name && folderOf(dir, name, wait);
    return folder && existsSync(folder) ? [folder] : [];
  });
  return folders.flatMap((folder) => readResults([folder]).bursts);
}

function count(number, noun) {
  return `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function renderFacts(facts) {
  const all = Object.values(facts);
  const each = (key) => [...new Set(all.map((fact) => fact[key]).filter(Boolean))].toSorted();
  const commits = each("commit");
  const versions = [...new Set(all.flatMap((fact) => Object.entries(fact.versions ?? {}).map((one) => one.join(" "))))];
  const seeds = Object.entries(facts).flatMap(([id, { seed }]) => (seed === undefined ? [] : [`${id}: ${seed}`]));
  const minutes = all.reduce((sum, fact) => sum + fact.minutes, 0);
  const lines = {
    date: [...new Set([each("date")[0], each("date").at(-1)])].join(" to "),
    commit:
      commits.join(", ") + (commits.length > 1 ? ": the rows are not of one commit, measure the older ones again" : ""),
    command: "`npm run bench -- study`",
    node: each("node").join(", "),
    machine: each("machine").join("; "),
    versions: versions.join(", "),
    seeds: [...seeds, "bursts have no random part"].join(", "),
    time: `${count(all.length, "row")} in ${count(Math.ceil(minutes), "minute")}`,
  };
  return Object.entries(lines)
    .map(([name, value]) => `- ${name}: ${value}`)
    .join("\n");
}

function renderSection({ title, name, findings, figure, reason, table, notes = [] }, pictures) {
  return [
    `## ${title}`,
    findings.map((finding) => `- ${finding}`).join("\n"),
    figure ? renderPicture(pictures, name, figure.title) : reason && `No picture: ${reason}`,
    table,
    notes.map((note) => `- ${note}`).join("\n"),
  ]
    .filter(Boolean)
    .join("\n\n");
}

function renderPublished({ subjects, published: { source, setups } }, bursts) {
  const largest = findLargest(bursts);
  const best = Object.entries(setups).toSorted(([, a], [, b]) => b.batch["10"] - a.batch["10"])[0];
  const rows = largest.flatMap(({ subject, wait_seconds, bySuccess, stop, all }) => {
    const name = subjects[subject]?.published;
    const of = setups[name];
    if (of?.batch[wait_seconds] === undefined) return [];
    const ours = bySuccess === null ? "none" : `${stop === null ? "≥ " : ""}${whole(bySuccess)}`;
    const rate = all ? whole(Math.round(all.requests_per_second)) : "–";
    const breakdown = wait_seconds === 1 ? of.breakdown.map(three).join(" / ") : "–";
    return [
      [
        ...[subject, `${wait_seconds} s`, ours, renderSeconds(all?.total_p99_ms), rate],
        ...[name, of.cores, whole(of.batch[wait_seconds])],
        ...[`${three(of.p99[wait_seconds])} s`, three(of.rate[wait_seconds]), breakdown],
      ],
    ];
  });
  const head = ["setup", "wait", "largest batch", "p99", "requests/s"];
  return `## Next to the published study

The setups are those of [a published study](${source}) of the Python package (January 2026). Its figures stand next to ours for
orientation: another load, other hardware, another year, and each request counted from its own start. Compare the rows of one
run: ours and those of \`python-…\`. Its best row is \`${best[0]}\` with ${whole(best[1].batch["10"])} sessions on ${best[1].cores} cores.

${renderTable([...head, "published", "cores", ...head.slice(2), "connect / reset / step"], rows)}`;
}

function renderLeft({ left, missing }) {
  const rows = [
    ...left.map(({ id }) => `- \`${id}\`: not measured yet at this commit.`),
    ...missing.map(({ id, reason }) => `- \`${id}\`: ${reason}.`),
  ];
  return [readFileSync(LEFT_OUT, "utf8").trim(), ...(rows.length === 0 ? [] : [rows.join("\n")])].join("\n\n");
}
