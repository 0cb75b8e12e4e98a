import { listOrphans } from "@openenv-ts/providers/internal";
import type { Command } from "commander";
import { exit, print, printNote } from "../terminal/output.js";
import { renderJson, renderOrphans } from "../terminal/render-orphans.js";

const EXAMPLES = `
Lists the running servers that fromDockerImage(), fromHub() and the providers of @openenv-ts/providers started:
processes of this user, and containers of the engine that the docker command uses.
The owner "gone" means that the process that started the server has exited: \`openenv prune\` removes such a server.

Examples:
  openenv ps
  openenv ps --json`;

export function configurePs(command: Command): void {
  command.option("--json", "print the list as JSON").addHelpText("after", EXAMPLES).action(list);
}

async function list({ json }: { json?: boolean }): Promise<void> {
  const { found, unasked } = await listOrphans();
  for (const reason of unasked) printNote(`not checked: ${reason}`);
  print(json ? renderJson(found) : renderOrphans(found, "No running servers."));
  exit(0);
}
