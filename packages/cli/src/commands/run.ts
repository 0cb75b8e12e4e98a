import cluster from "node:cluster";
import { statSync } from "node:fs";
import Module from "node:module";
import { resolve } from "node:path";
import type { Command } from "commander";
import { ConfigError } from "openenv-ts/internal";
import { bundle } from "../project/bundle.js";
import { isTypeScript } from "../project/load-environment.js";

const EXAMPLES = `
Examples:
  openenv run examples/play.ts
  openenv run train.ts --episodes 100     # what follows the file is the script's own
  echo '{"amount": 1}' | openenv run step.ts`;

export function configureRun(command: Command): void {
  command
    .argument("<file>", "TypeScript is compiled first, JavaScript runs as it is")
    .argument("[args...]", "handed to the script as process.argv.slice(2)")
    .passThroughOptions()
    .allowUnknownOption()
    .addHelpText("after", EXAMPLES)
    .action(run);
}

/** The script becomes this process's main module, so exit code, signals and standard input are its own. */
async function run(file: string, args: string[]): Promise<void> {
  const source = resolve(file);
  if (!statSync(source, { throwIfNoEntry: false })?.isFile()) {
    throw new ConfigError(`There is no file ${file}; name a TypeScript or JavaScript file to run.`);
  }
  const main = isTypeScript(source) ? (await bundle(source)).file : source;
  // Node cannot start the source itself as the workers of serve(): they run this command again.
  if (main !== source && cluster.isPrimary)
    cluster.setupPrimary({ exec: process.argv[1], args: ["run", source, ...args] });
  process.setSourceMapsEnabled(true);
  process.argv = [process.execPath, source, ...args];
  Module.runMain(main);
}
