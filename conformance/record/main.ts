/**
 * Records the transcripts again with the servers and clients of the Python package that is installed in a Python, and prints what
 * differs: `npx openenv run conformance/record/main.ts --python PATH [--write] [case...]`. With `--write`, the lines of the
 * transcripts that differ are replaced.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type RecordedLine, record } from "./record.js";

const { values, positionals } = parseArgs({
  options: { python: { type: "string", default: "python3" }, write: { type: "boolean", default: false } },
  allowPositionals: true,
});
const lines = await record(values.python, positionals).catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
const different = lines.filter(({ differences }) => differences.length > 0);
for (const { case: name, differences } of different) process.stdout.write(`${[name, ...differences].join("\n  ")}\n`);
process.stdout.write(`${different.length} of ${positionals.length || lines.length} cases differ.\n`);
if (values.write) {
  for (const file of new Set(different.map((line) => line.file))) writeTranscript(file, lines);
} else if (different.length > 0) process.exitCode = 1;

function writeTranscript(file: string, recorded: readonly RecordedLine[]): void {
  const written = recorded.filter((line) => line.file === file).map(({ line }) => `${line}\n`);
  writeFileSync(file, written.join(""));
}
