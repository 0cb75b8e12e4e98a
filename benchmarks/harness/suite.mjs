import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { drawFigure, renderCsv, renderReport } from "@openenv-ts/bench";
import { sourceCommit } from "./commit.mjs";

const REPORTS = new URL("../reports/", import.meta.url);
const RESULTS = new URL("../results/", import.meta.url);

/**
 * Runs the parts of one benchmark, prints the table of their rows, and with --write writes `reports/NAME.md` and
 * `results/name.csv`. `variables` is shown before its command. Common options: --quick, --only a,b, --json <file>, --write;
 * `options` adds some, and `said` has words for those whose value is one machine's own. `details` shows some rows in
 * another way: it returns those of the table, more text, and the pictures in that text, which are written to results/ too.
 */
export async function runSuite({ title, name, variables, parts, options: more, said, createBench, notes, details }) {
  const { only, options, typed } = readArguments(parts, more, { json: "<file>", ...said });
  const bench = createBench(options);
  const rows = [];
  try {
    for (const part of only) {
      process.stderr.write(`${part}: ${parts[part].title}\n`);
      rows.push(...(await parts[part].run(bench, rows)));
    }
  } finally {
    await bench.close();
  }
  const { shown = rows, text: moreText = "", figures = [] } = details?.(rows) ?? {};
  const content = {
    title,
    facts: facts([variables, "npm run bench --", name, ...typed], bench),
    subjects: bench.subjects,
    rows: shown,
    notes: notes(bench, rows),
  };
  const text = renderReport(content) + moreText;
  process.stdout.write(text);
  if (options.json) writeFileSync(options.json, `${JSON.stringify(content, null, 2)}\n`);
  if (!options.write) return;
  writeFileSync(new URL(`${name.toUpperCase()}.md`, REPORTS), text);
  writeFileSync(new URL(`${name}.csv`, RESULTS), renderCsv(rows));
  for (const figure of figures) {
    writeFileSync(new URL(`${figure.name}.svg`, RESULTS), (await drawFigure(figure)).svg);
  }
}

function readArguments(parts, more, said) {
  try {
    const { values, tokens } = parseArgs({
      tokens: true,
      options: {
        quick: { type: "boolean", default: false },
        only: { type: "string", default: Object.keys(parts).join() },
        json: { type: "string" },
        write: { type: "boolean", default: false },
        ...more,
      },
    });
    const only = values.only.split(",");
    const unknown = only.find((name) => !(name in parts));
    if (unknown !== undefined) throw new Error(`no part "${unknown}": ${Object.keys(parts).join(", ")}`);
    if (values.write && (values.quick || only.length < Object.keys(parts).length)) {
      throw new Error("--write needs a complete run: remove --quick and --only");
    }
    return { only, options: values, typed: tokens.map((token) => renderToken(token, said)) };
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

function renderToken({ rawName, name, value }, said) {
  return value === undefined ? rawName : `${rawName} ${said[name] ?? value}`;
}

function facts(words, { python }) {
  const versions = python?.versions && Object.entries(python.versions);
  const command = [versions && "OPENENV_PYTHON=python", ...words].filter(Boolean).join(" ");
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: sourceCommit(),
    command: `\`${command}\``,
    node: process.version,
    machine: `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}, ${process.platform} ${process.arch}, shared`,
    ...(python && {
      python:
        versions?.map(([name, version]) => `${name} ${version ?? "not installed"}`).join(", ") ??
        `not measured: ${python.missing}`,
    }),
  };
}
