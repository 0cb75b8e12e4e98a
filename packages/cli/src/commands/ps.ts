import { listOrphans } from "@openenv-ts/providers/internal";
import type { Command } from "commander";
import { exit, print, printNote } from "../terminal/output.js";
import { renderJson, renderOrphans } from "../terminal/render-orphans.js";

const EXAMPLES = `
Shown is what fromDockerImage(), fromHub() and the providers of @openenv-ts/providers have started and not yet ended:
the processes of this user, and the containers of the engine that the docker command would use.
"gone" as owner means that whoever started it has ended: \`openenv prune\` removes it.

Examples:
  openenv ps
  openenv ps --json`;

export function configurePs(command: Command): void {
  command.option("--json", "print the list as JSON").addHelpText("after", EXAMPLES).action(list);
}

async function list({ json }: { json?: boolean }): Promise<void> {
  const { found, unasked } = await listOrphans();
  for (const reason of unasked) printNote(`not asked: ${reason}`);
  print(json ? renderJson(found) : renderOrphans(found, "Nothing runs that a provider has started."));
  exit(0);
}
