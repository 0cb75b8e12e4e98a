import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { exit, print, printError, printNote, reportError } from "./terminal/output.js";

interface CommandEntry {
  name: string;
  summary: string;
  /** Adds arguments, options, examples and the action; only the requested command is loaded. */
  configure(command: Command): Promise<void>;
}

const COMMANDS: readonly CommandEntry[] = [
  {
    name: "init",
    summary: "create an environment with TypeScript and Python clients",
    configure: async (command) => (await import("./commands/init.js")).configureInit(command),
  },
  {
    name: "serve",
    summary: "serve an environment over HTTP and WebSocket",
    configure: async (command) => (await import("./commands/serve.js")).configureServe(command),
  },
  {
    name: "run",
    summary: "run a TypeScript or JavaScript file",
    configure: async (command) => (await import("./commands/run.js")).configureRun(command),
  },
  {
    name: "schema",
    summary: "show or compare the schemas of environments",
    configure: async (command) => (await import("./commands/schema.js")).configureSchema(command),
  },
  {
    name: "client",
    summary: "generate a typed client package for Python or TypeScript",
    configure: async (command) => (await import("./commands/client.js")).configureClient(command),
  },
  {
    name: "validate",
    summary: "check a package or a running server",
    configure: async (command) => (await import("./commands/validate.js")).configureValidate(command),
  },
  {
    name: "collect",
    summary: "run episodes and write them to a file",
    configure: async (command) => (await import("./commands/collect.js")).configureCollect(command),
  },
  {
    name: "export",
    summary: "turn collected episodes into Parquet or data sets for trainers",
    configure: async (command) => (await import("./commands/export.js")).configureExport(command),
  },
  {
    name: "replay",
    summary: "play recorded episodes again and report the first difference",
    configure: async (command) => (await import("./commands/replay.js")).configureReplay(command),
  },
  {
    name: "rollouts",
    summary: "list, export, import and delete the episodes that a server has recorded",
    configure: async (command) => (await import("./commands/rollouts.js")).configureRollouts(command),
  },
  {
    name: "mcp",
    summary: "expose an environment's tools as an MCP server over stdio",
    configure: async (command) => (await import("./commands/mcp.js")).configureMcp(command),
  },
  {
    name: "ps",
    summary: "list running servers that providers started",
    configure: async (command) => (await import("./commands/ps.js")).configurePs(command),
  },
  {
    name: "prune",
    summary: "remove servers whose owner process has exited",
    configure: async (command) => (await import("./commands/prune.js")).configurePrune(command),
  },
  {
    name: "build",
    summary: "build the image of an environment",
    configure: async (command) => (await import("./commands/build.js")).configureBuild(command),
  },
  {
    name: "push",
    summary: "publish an environment as a Hugging Face Space",
    configure: async (command) => (await import("./commands/push.js")).configurePush(command),
  },
  {
    name: "deploy",
    summary: "render the files that deploy an environment on several machines",
    configure: async (command) => (await import("./commands/deploy.js")).configureDeploy(command),
  },
  {
    name: "fleet",
    summary: "show, drain and resume the servers of a fleet",
    configure: async (command) => (await import("./commands/fleet.js")).configureFleet(command),
  },
  {
    name: "bench",
    summary: "measure how many sessions a server holds and how fast it steps",
    configure: async (command) => (await import("./commands/bench.js")).configureBench(command),
  },
];

/** Runs the command line. Exit codes: 0 success, 1 failure, 2 invalid usage or configuration. */
export async function main(args: readonly string[]): Promise<void> {
  const requested = args[0] === "help" ? args[1] : args[0];
  const entry = COMMANDS.find(({ name }) => name === requested);
  let program: Command | undefined;
  try {
    program = await createProgram(entry);
    await program.parseAsync(args.length === 0 ? ["--help"] : [...args], { from: "user" });
  } catch (error) {
    exit(
      error instanceof CommanderError
        ? reportUsage(error, program && nameCommand(program, args))
        : reportError(error instanceof TypeError ? await blameZod(error) : error),
    );
  }
}

/** An incompatible zod release makes the first module that uses it throw a TypeError. */
async function blameZod(error: TypeError): Promise<unknown> {
  return import("openenv-ts").then(
    () => error,
    (cause: unknown) => cause,
  );
}

/** The full name of the command, as it is typed: `openenv deploy render`. */
function nameCommand(program: Command, args: readonly string[]): string {
  const names = [program.name()];
  let command: Command | undefined = program;
  for (const arg of args[0] === "help" ? args.slice(1) : args) {
    command = command.commands.find((one) => one.name() === arg);
    if (command === undefined) break;
    names.push(arg);
  }
  return names.join(" ");
}

async function createProgram(requested: CommandEntry | undefined): Promise<Command> {
  const program = new Command("openenv")
    .description("Build, serve and use agentic RL environments.")
    .version(readVersion())
    .enablePositionalOptions()
    .exitOverride()
    // reportUsage prints commander's errors, once.
    .configureOutput({ writeOut: print, writeErr: printNote, outputError: () => {} });
  for (const entry of COMMANDS) {
    const command = program.command(entry.name).description(entry.summary);
    if (entry === requested) await entry.configure(command);
  }
  return program;
}

/** Prints what is wrong with the arguments, in one line, and returns the exit code. */
function reportUsage(error: CommanderError, command = "openenv"): number {
  if (error.exitCode === 0) return 0;
  if (error.code !== "commander.help") {
    const [reason = "", suggestion] = error.message
      .replace(/^error: /, "")
      .trim()
      .split("\n");
    printError(suggestion ? `${reason} ${suggestion}` : `${reason.replace(/\.$/, "")}; see \`${command} --help\``);
  }
  return 2;
}

function readVersion(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
