import { isAlive, listOrphans } from "@openenv-ts/providers/internal";
import type { Command } from "commander";
import { exit, print, printError, printNote } from "../terminal/output.js";
import { renderJson, renderOrphans } from "../terminal/render-orphans.js";

const EXAMPLES = `
Removed is what \`openenv ps\` shows with an owner that is gone. With --all also what is in use, by whomever: their
sessions are lost.

Examples:
  openenv prune
  openenv prune --dry-run
  openenv prune --all`;

interface PruneFlags {
  all?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

export function configurePrune(command: Command): void {
  command
    .option("--all", "also what is in use")
    .option("--dry-run", "only say what would be removed")
    .option("--json", "print what was removed as JSON")
    .addHelpText("after", EXAMPLES)
    .action(prune);
}

async function prune({ all = false, dryRun = false, json = false }: PruneFlags): Promise<void> {
  const { found, unasked } = await listOrphans();
  for (const reason of unasked) printNote(`not asked: ${reason}`);
  const chosen = found.filter(({ owner }) => all || !isAlive(owner));
  const results = await Promise.allSettled(dryRun ? [] : chosen.map((orphan) => orphan.remove()));
  const failures = results.flatMap((result, index) =>
    result.status === "rejected" ? [`${chosen[index]?.id} could not be removed: ${result.reason}`] : [],
  );
  print(json ? renderJson(chosen) : renderOrphans(chosen, "Nothing to remove."));
  for (const failure of failures) printError(failure);
  exit(failures.length > 0 ? 1 : 0);
}
