import type { Command } from "commander";
import { readSchemas } from "../project/read-schemas.js";
import { diffSchemas, type SchemaChange } from "../schema/diff.js";
import { exit, print } from "../terminal/output.js";

const SOURCE = "URL of a server, JSON file with the answer of GET /schema, or module of an environment";

const DIFF_EXAMPLES = `
Exit codes: 0 nothing breaks, 1 something breaks, 2 an input cannot be read.

Examples:
  openenv schema diff schema.json server/environment.ts
  openenv schema diff https://example.org/my-env http://localhost:8000 --json`;

const SHOW_EXAMPLES = `
Examples:
  openenv schema show server/environment.ts > schema.json
  openenv schema show http://localhost:8000`;

export function configureSchema(command: Command): void {
  command
    .command("show")
    .description("print the schemas as GET /schema answers them")
    .argument("<source>", SOURCE)
    .addHelpText("after", SHOW_EXAMPLES)
    .action(show);
  command
    .command("diff")
    .description("say what changed between two versions and what breaks the clients of the first")
    .argument("<before>", SOURCE)
    .argument("<after>", "the same")
    .option("--json", "print the changes as JSON")
    .addHelpText("after", DIFF_EXAMPLES)
    .action(diff);
}

async function show(source: string): Promise<void> {
  print(JSON.stringify(await readSchemas(source), null, 2));
  exit(0);
}

async function diff(before: string, after: string, { json }: { json?: boolean }): Promise<void> {
  const changes = diffSchemas(await readSchemas(before), await readSchemas(after));
  print(json ? JSON.stringify(changes, null, 2) : renderChanges(changes));
  exit(changes.some(({ breaking }) => breaking) ? 1 : 0);
}

function renderChanges(changes: readonly SchemaChange[]): string {
  if (changes.length === 0) return "The schemas are the same.";
  const breaking = changes.filter((change) => change.breaking).length;
  const lines = changes.map(({ breaking, part, path, message }) => {
    return `${breaking ? "breaks" : "      "}  ${[part, path].filter(Boolean).join(".")}: ${message}`;
  });
  return [...lines, `${changes.length} changes, ${breaking} breaking.`].join("\n");
}
