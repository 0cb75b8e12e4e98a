import { parseTopology } from "@openenv-ts/deploy";
import type { Command } from "commander";
import { ConfigError, parseAddress } from "openenv-ts/internal";
import { askServer, countInUse, drainServers, type FleetServer, isOpen } from "../fleet/fleet-servers.js";
import { describeServer, renderFleet } from "../fleet/render-fleet.js";
import { repeatable, secondsBetween } from "../terminal/option-values.js";
import { exit, print, printError, printNote } from "../terminal/output.js";
import { readTopologyFile } from "../terminal/render-deployment.js";

const HELP = `
Give the address of each server, not that of a balancer: --url for each, or the key backends of a topology file.
OPENENV_TOKEN is sent as a bearer token; it must be the OPENENV_OPERATOR_TOKEN of the servers. A drain pauses the
servers and does not stop them. They stay paused when the command is interrupted.
`;
const HEALTHY = "0 all servers are healthy, 1 a server does not answer, refuses or has a problem";
const DRAINED = "0 all servers are drained, 1 a server failed, refused or was resumed, 3 sessions are left";

interface FleetFlags {
  url: string[];
  topology?: string;
  json?: true;
  timeout?: number;
}

export function configureFleet(fleet: Command): void {
  const configure = (name: string, description: string, codes: string): Command => {
    const examples = ["--url http://10.0.0.5:8000", "--topology topology.yaml --json"];
    const lines = examples.map((options) => `  openenv fleet ${name} ${options}`).join("\n");
    return fleet
      .command(name)
      .description(description)
      .option("--url <url>", "URL of a server; repeatable", repeatable, [])
      .option("--topology <file>", "topology file whose key backends has the addresses of the servers")
      .option("--json", "print the servers as JSON")
      .addHelpText("after", `${HELP}\nExit codes: ${codes}, 2 invalid usage.\n\nExamples:\n${lines}`);
  };
  const show = (act?: "resume") => async (flags: FleetFlags) => {
    const servers = await Promise.all((await readUrls(flags)).map((url) => askServer(url, act)));
    report(servers, flags, servers.some((server) => describeServer(server).problems.length > 0) ? 1 : 0);
  };
  configure("status", "show the version, load and state of each server", HEALTHY).action(show());
  configure("resume", "open sessions again after a drain", HEALTHY).action(show("resume"));
  configure("drain", "open no more sessions, and wait until those that are open have ended", DRAINED)
    .option("--timeout <seconds>", "longest wait (default: no limit); 0 only pauses", secondsBetween(0, 604_800))
    .action(drain);
}

async function drain(flags: FleetFlags): Promise<void> {
  const { timeout = Number.POSITIVE_INFINITY } = flags;
  const servers = await drainServers(await readUrls(flags), timeout);
  const open = servers.filter(isOpen);
  const left = servers.filter((server) => countInUse(server) > 0);
  for (const { url } of open) printError(`${url} opens sessions again: it was restarted or resumed.`);
  for (const one of left) printError(`${one.url} is not drained after ${timeout} s, in use: ${countInUse(one)}.`);
  report(servers, flags, open.length > 0 ? 1 : left.length > 0 ? 3 : 0);
}

/** The addresses of all servers, each once. @throws ConfigError */
async function readUrls({ url, topology }: FleetFlags): Promise<string[]> {
  const { backends } = topology === undefined ? { backends: [] } : parseTopology(await readTopologyFile(topology));
  if (topology !== undefined && backends.length === 0) {
    throw new ConfigError(`${topology} has no addresses: add the key backends, such as backends: ["10.0.0.5:8000"].`);
  }
  const urls = [...url, ...backends];
  if (urls.length === 0) throw new ConfigError("No servers: pass --url for each, or --topology.");
  try {
    return [...new Set(urls.map((one) => parseAddress(one).http("")))];
  } catch (error) {
    throw new ConfigError((error as Error).message, { cause: error });
  }
}

/** Prints the servers, and ends with the code, or with 1 if one did not answer. */
function report(servers: readonly FleetServer[], { json }: FleetFlags, code: number): void {
  print(json ? JSON.stringify(servers.map(describeServer), null, 2) : renderFleet(servers));
  for (const server of servers) {
    if ("error" in server) printError(server.error.message);
    else if (server.view.paused == null) {
      printNote(`${server.url} runs openenv-ts ${server.view.server_version}, which does not report all columns.`);
    }
  }
  exit(servers.some((server) => "error" in server) ? 1 : code);
}
