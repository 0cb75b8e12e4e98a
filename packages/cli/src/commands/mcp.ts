import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { type Command, Option } from "commander";
import { connectTools, type McpToolClient } from "openenv-ts/client";
import { toMcpServer } from "openenv-ts/mcp";
import { serverToken } from "../server-token.js";
import { exit, printNote } from "../terminal/output.js";

const EXAMPLES = `
The session ends when standard input is closed. OPENENV_TOKEN, if set, is sent as a bearer token.

Examples:
  openenv mcp http://localhost:8000
  openenv mcp https://example.org/my-env --reset --mode simulation

In the settings of an agent:
  { "mcpServers": { "desk": { "command": "npx", "args": ["openenv", "mcp", "http://localhost:8000"] } } }`;

export function configureMcp(command: Command): void {
  command
    .argument("<url>", "URL of a server")
    .addOption(
      new Option("--mode <mode>", "simulation: each call is a step; production: calls do not affect the episode")
        .choices(["production", "simulation"])
        .default("production"),
    )
    .option("--reset", "reset first; simulation mode always resets")
    .addHelpText("after", EXAMPLES)
    .action(bridge);
}

interface BridgeOptions {
  mode: "production" | "simulation";
  reset?: true;
}

/** Serves the tools of one session over the standard streams. */
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
