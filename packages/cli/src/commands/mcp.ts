import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { type Command, Option } from "commander";
import { connectTools, type McpToolClient } from "openenv-ts/client";
import { toMcpServer } from "openenv-ts/mcp";
import { serverToken } from "../server-token.js";
import { exit, printNote } from "../terminal/output.js";

const EXAMPLES = `
The session lasts as long as standard input is open. OPENENV_TOKEN is sent as bearer token, if it is set.

Examples:
  openenv mcp http://localhost:8000
  openenv mcp https://example.org/my-env --reset --mode simulation

In the settings of an agent:
  { "mcpServers": { "desk": { "command": "npx", "args": ["openenv", "mcp", "http://localhost:8000"] } } }`;

export function configureMcp(command: Command): void {
  command
    .argument("<url>", "URL of a server")
    .addOption(
      new Option("--mode <mode>", "simulation: a call is a step; production: calls go beside the episode")
        .choices(["production", "simulation"])
        .default("production"),
    )
    .option("--reset", "begin an episode first; in simulation that is always done")
    .addHelpText("after", EXAMPLES)
    .action(bridge);
}

interface BridgeOptions {
  mode: "production" | "simulation";
  reset?: true;
}

/** Gives the tools of one session to the agent at the standard streams. */
async function bridge(url: string, { mode, reset }: BridgeOptions): Promise<void> {
  const token = serverToken();
  const client: McpToolClient = await connectTools(url, { mode, token, check: false });
  if (reset || mode === "simulation") await client.reset();
  const onerror = ({ message }: Error): void => printNote(message);
  const handle = serveStdio(() => toMcpServer(client), { onerror });
  const end = async (): Promise<void> => {
    await handle.close();
    await client.close();
    exit(0);
  };
  process.stdin.once("end", () => void end());
  process.once("SIGTERM", () => void end()).once("SIGINT", () => void end());
}
