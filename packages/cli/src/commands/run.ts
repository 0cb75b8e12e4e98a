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
  openenv run train.ts --episodes 100     # arguments after the file go to the script
  echo '{"amount": 1}' | openenv run step.ts`;

export function configureRun(command: Command): void {
  command
    .argument("<file>", "TypeScript or JavaScript file; TypeScript is compiled first")
    .argument("[args...]", "arguments of the script, as process.argv.slice(2)")
    .passThroughOptions()
    .allowUnknownOption()
    .addHelpText("after", EXAMPLES)
    .action(run);
}

/** Runs the script as the main module of this process, so that it owns exit code, signals and standard input. */
async function run(file: string, args: string[]): Promise<void> {
  const source = resolve(file);
  if (!statSync(source, { throwIfNoEntry: false })?.isFile()) {
    throw new ConfigError(`No such file: ${file}. Pass a TypeScript or JavaScript file.`);
  }
  const main = isTypeScript(source) ? (await bundle(source)).file : source;
  // Node cannot run the TypeScript source in the workers of serve(), so they run this command again.
  if (main !== source && cluster.isPrimary)
    cluster.setupPrimary({ exec: process.argv[1], args: ["run", source, ...args] });
  process.setSourceMapsEnabled(true);
  process.argv = [process.execPath, source, ...args];
  Module.runMain(main);
}
