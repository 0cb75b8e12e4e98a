import { listOrphans } from "@openenv-ts/providers/internal";
import type { Command } from "commander";
import { exit, print, printNote } from "../terminal/output.js";
import { renderJson, renderOrphans } from "../terminal/render-orphans.js";

const NOT_LISTED =
  "Not listed: what no provider started, such as servers of Compose, Kubernetes, Slurm or a shell; see `openenv fleet status`.";

const EXAMPLES = `
Lists the running servers that fromDockerImage(), fromHub() and the providers of @openenv-ts/providers started:
processes of this user, containers of the engine that the docker command uses, Slurm jobs and Pods.
${NOT_LISTED}
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
  if (!json) printNote(NOT_LISTED);
  exit(0);
}
