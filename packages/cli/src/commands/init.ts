import { join } from "node:path";
import { quoteShell } from "@openenv-ts/deploy";
import { type Command, Option } from "commander";
import { ConfigError } from "openenv-ts/internal";
import { createEnvironment, TEMPLATES, type TemplateName } from "../init/create-environment.js";
import { type Names, parseName } from "../project/names.js";
import { abortOnSignals } from "../terminal/interrupt.js";
import { exit, isInteractive, print } from "../terminal/output.js";

const INTERRUPTED = 130;

const EXAMPLES = `
The folder gets the name of the environment. It is a complete project that starts, tests, validates and builds, with a
Python client that pip can install.

Examples:
  openenv init counter-game
  openenv init my_env -o environments
  openenv init my-env --template tools
  openenv init my-env --runtime bun
  openenv init my-env --json`;

interface InitFlags {
  outputDir: string;
  template: TemplateName;
  runtime: "node" | "bun";
  json?: boolean;
}

export function configureInit(command: Command): void {
  command
    .argument("[name]", "lowercase letters and digits, words joined by - or _ (prompted for on a terminal)")
    .option("-o, --output-dir <dir>", "parent folder of the new folder", ".")
    .addOption(new Option("--template <name>", "what it starts as").choices(TEMPLATES).default("game"))
    .addOption(new Option("--runtime <name>", "what serves it").choices(["node", "bun"]).default("node"))
    .option("--json", "print the result as JSON")
    .addHelpText("after", EXAMPLES)
    .action(run);
}

async function run(given: string | undefined, { outputDir, template, runtime, json }: InitFlags): Promise<void> {
  const name = given ?? (await promptName());
  if (name === undefined) {
    exit(INTERRUPTED);
    return;
  }
  const names = parseName(name);
  // The folder has the name as the user typed it.
  using interrupt = abortOnSignals();
  const place = join(outputDir, name);
  const { dir, files } = await createEnvironment(names, { dir: place, template, runtime }, interrupt.signal);
  const { kebab, module, prefix } = names;
  print(
    json
      ? JSON.stringify({ dir, name: kebab, template, module, client: `${prefix}Env`, files }, null, 2)
      : renderDone(place, names),
  );
  exit(0);
}

async function promptName(): Promise<string | undefined> {
  if (!isInteractive()) {
    throw new ConfigError("Name the environment: openenv init my-env");
  }
  const { askName } = await import("../init/ask-name.js");
  return await askName();
}

function renderDone(dir: string, { kebab, module, prefix }: Names): string {
  return `Created ${kebab} in ${dir}.

  cd ${quoteShell(dir)}
  npm install
  npm start          # http://localhost:8000
  npm test

models.ts has the contract, server/environment.ts the environment, ${module}/ the Python client (${prefix}Env).`;
}
