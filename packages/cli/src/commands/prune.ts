import { isAlive, listOrphans } from "@openenv-ts/providers/internal";
import type { Command } from "commander";
import { exit, print, printError, printNote } from "../terminal/output.js";
import { renderJson, renderOrphans } from "../terminal/render-orphans.js";

const EXAMPLES = `
Removes the servers that \`openenv ps\` lists with the owner "gone". With --all it also removes servers in use, of every
owner: their sessions are lost.

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
    .option("--all", "also remove servers in use")
    .option("--dry-run", "list what would be removed without removing it")
    .option("--json", "print the removed servers as JSON")
    .addHelpText("after", EXAMPLES)
    .action(prune);
}

async function prune({ all = false, dryRun = false, json = false }: PruneFlags): Promise<void> {
  const { found, unasked } = await listOrphans();
  for (const reason of unasked) printNote(`not checked: ${reason}`);
  const chosen = found.filter(({ owner }) => all || !isAlive(owner));
  const results = await Promise.allSettled(dryRun ? [] : chosen.map((orphan) => orphan.remove()));
  const failures = results.flatMap((result, index) =>
    result.status === "rejected" ? [`cannot remove ${chosen[index]?.id}: ${result.reason}`] : [],
  );
  print(json ? renderJson(chosen) : renderOrphans(chosen, "Nothing to remove."));
  for (const failure of failures) printError(failure);
  exit(failures.length > 0 ? 1 : 0);
}
