import { join } from "node:path";
import type { Command } from "commander";
import { ConfigError } from "openenv-ts/internal";
import { createEnvironment } from "../init/create-environment.js";
import { describePath } from "../project/bundle.js";
import { type Names, parseName } from "../project/names.js";
import { abortOnSignals } from "../terminal/interrupt.js";
import { exit, isInteractive, print } from "../terminal/output.js";

const INTERRUPTED = 130;

const EXAMPLES = `
The folder is called after the environment. What is in it starts, tests, validates and builds as it is, and its Python
client can be installed with pip.

Examples:
  openenv init counter-game
  openenv init my_env -o environments
  openenv init my-env --json`;

interface InitFlags {
  outputDir: string;
  json?: boolean;
}

export function configureInit(command: Command): void {
  command
    .argument("[name]", "small letters and digits, words joined by - or _; asked for on a terminal")
    .option("-o, --output-dir <dir>", "folder in which the new one is made, as dir/name", ".")
    .option("--json", "print what was made as JSON")
    .addHelpText("after", EXAMPLES)
    .action(run);
}

async function run(given: string | undefined, { outputDir, json }: InitFlags): Promise<void> {
  const name = given ?? (await ask());
  if (name === undefined) {
    exit(INTERRUPTED);
    return;
  }
  const names = parseName(name);
  // The name as it was written, so that nobody looks for another folder.
  const { dir, files } = await createEnvironment(names, join(outputDir, name), abortOnSignals());
  const { kebab, module, prefix } = names;
  print(
    json
      ? JSON.stringify({ dir, name: kebab, module, client: `${prefix}Env`, files }, null, 2)
      : renderDone(describePath(dir), names),
  );
  exit(0);
}

async function ask(): Promise<string | undefined> {
  if (!isInteractive()) {
    throw new ConfigError("Give the environment a name: openenv init my-env");
  }
  const { askName } = await import("../init/ask-name.js");
  return await askName();
}

function renderDone(dir: string, { kebab, module, prefix }: Names): string {
  return `Made ${kebab} in ${dir}.

  cd ${dir}
  npm install
  npm start          # http://localhost:8000
  npm test

models.ts says what goes in and out, server/environment.ts plays; ${module}/ is the Python client (${prefix}Env).`;
}
