import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve, sep } from "node:path";
import type { Command } from "commander";
import { ConfigError } from "openenv-ts/internal";
import { renderPyproject, renderPythonPackage } from "../client/python/python-package.js";
import { type ClientSource, readSource } from "../client/read-source.js";
import { readTypes } from "../client/read-types.js";
import { renderPythonReadme, renderTypeScriptReadme } from "../client/readme.js";
import { bundleClient } from "../client/typescript/bundle-client.js";
import { renderPackageJson, renderTypeScriptPackage } from "../client/typescript/typescript-package.js";
import { writePackage } from "../client/write-package.js";
import { describePath } from "../project/bundle.js";
import { packageRoot } from "../project/package-root.js";
import { exit, print } from "../terminal/output.js";

const EXAMPLES = `
Works with every OpenEnv server, whatever it is written in. Files that this command wrote are replaced when it is run
again; the others stay as they are.

Examples:
  openenv client python
  openenv client python --url https://example.org/my-env -o my-env-client
  openenv client typescript --url http://localhost:8000 --name my-env`;

const BUNDLE_EXAMPLES = `
Needs what tsc makes of client.ts: JavaScript and declarations. The result has in it what it uses of openenv-ts, so that
the package can be installed where openenv-ts is not.

Example:
  openenv client bundle dist/client.js -o dist/client`;

interface ClientFlags {
  url?: string;
  output?: string;
  name?: string;
  json?: boolean;
}

export function configureClient(command: Command): void {
  for (const language of ["python", "typescript"] as const) {
    command
      .command(language)
      .description(`write a typed client package for ${language === "python" ? "Python" : "TypeScript"}`)
      .argument("[target]", "folder or module of the environment, or a file with what GET /schema answers")
      .option("--url <url>", "a server instead, in any language")
      .option("-o, --output <dir>", "folder of the package; for Python by default the environment's own")
      .option("--name <name>", "name of the environment, where it is not what the client should be called after")
      .option("--json", "print what was written as JSON")
      .addHelpText("after", EXAMPLES)
      .action((target: string | undefined, flags: ClientFlags) => run(language, target, flags));
  }
  command
    .command("bundle")
    .description("make the compiled client of an environment independent of openenv-ts")
    .argument("<file>", "the compiled client")
    .requiredOption("-o, --output <dir>", "folder of the result")
    .addHelpText("after", BUNDLE_EXAMPLES)
    .action(async (file: string, { output }: { output: string }) => {
      await bundleClient(resolve(file), resolve(output));
      exit(0);
    });
}

async function run(language: "python" | "typescript", target: string | undefined, flags: ClientFlags): Promise<void> {
  if (target !== undefined && flags.url !== undefined) throw new ConfigError("Give a target or --url, not both.");
  const source = await readSource(flags.url ?? target ?? ".", flags.name);
  const dir = resolve(flags.output ?? defaultFolder(language, source));
  const files = language === "python" ? await writePython(source, dir) : await writeTypeScript(source, dir);
  print(
    flags.json
      ? JSON.stringify({ dir, name: source.names.kebab, client: `${source.names.prefix}Env`, files }, null, 2)
      : `Wrote ${source.names.prefix}Env in ${describePath(dir)}: ${files.join(", ")}`,
  );
  exit(0);
}

/** One for each language: both write a README.md. */
function defaultFolder(language: "python" | "typescript", { folder, names }: ClientSource): string {
  if (language === "typescript") return `${names.kebab}-client`;
  return folder ?? `${names.kebab}-python-client`;
}

async function writePython({ schemas, names, version }: ClientSource, dir: string): Promise<string[]> {
  return await writePackage(dir, {
    generated: renderPythonPackage(readTypes(schemas, names.prefix), names),
    once: { "pyproject.toml": renderPyproject(names, version), "README.md": renderPythonReadme(names) },
  });
}

/** With what it uses of openenv-ts in it, so that it runs wherever it is installed. */
async function writeTypeScript({ schemas, names, version }: ClientSource, dir: string): Promise<string[]> {
  const draft = await mkdtemp(join(await realpath(tmpdir()), "openenv-client-"));
  try {
    const library = relative(draft, join(packageRoot("openenv-ts"), "dist/client")).replaceAll(sep, "/");
    const files = renderTypeScriptPackage(readTypes(schemas, names.prefix), schemas, { names, library });
    for (const [path, text] of Object.entries(files)) await writeFile(join(draft, path), text);
    await bundleClient(join(draft, "index.js"), join(dir, "dist"));
    const once = { "package.json": renderPackageJson(names, version), "README.md": renderTypeScriptReadme(names) };
    const written = await writePackage(dir, { generated: {}, once });
    return [...written, ...Object.keys(files).map((path) => `dist/${path}`)].sort();
  } finally {
    await rm(draft, { recursive: true, force: true, maxRetries: 5 });
  }
}
