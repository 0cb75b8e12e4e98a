import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve, sep } from "node:path";
import { type Command, Option } from "commander";
import { ConfigError } from "openenv-ts/internal";
import { findPythonBase, renderPyproject, renderPythonPackage } from "../client/python/python-package.js";
import type { PythonBase } from "../client/python/render-python.js";
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
Works with every OpenEnv server, whatever its language. Running the command again replaces the files that it wrote and
keeps all others.

Examples:
  openenv client python
  openenv client python --url https://example.org/my-env -o my-env-client
  openenv client typescript --url http://localhost:8000 --name my-env`;

const BUNDLE_EXAMPLES = `
Takes the output of tsc for client.ts: JavaScript and declarations. The bundle includes what it uses of openenv-ts, so
that the package works without openenv-ts installed.

Example:
  openenv client bundle dist/client.js -o dist/client`;

interface ClientFlags {
  url?: string;
  output?: string;
  name?: string;
  json?: boolean;
  base?: PythonBase;
}

export function configureClient(command: Command): void {
  for (const language of ["python", "typescript"] as const) {
    const subcommand = command
      .command(language)
      .description(`generate a typed client package for ${language === "python" ? "Python" : "TypeScript"}`)
      .argument("[target]", "folder or module of the environment, or a file with the response of GET /schema")
      .option("--url <url>", "URL of a server, instead of a target")
      .option("-o, --output <dir>", "folder of the package (default for Python: the folder of the environment)")
      .option("--name <name>", "name to derive the client's name from (default: the name of the environment)")
      .option("--json", "print the result as JSON")
      .addHelpText("after", EXAMPLES)
      .action((target: string | undefined, flags: ClientFlags) => run(language, target, flags));
    if (language === "python") {
      const base = new Option("--base <package>", "what the client stands on (default: as the client that is there)");
      subcommand.addOption(base.choices(["openenv-ts", "openenv"]));
    }
  }
  command
    .command("bundle")
    .description("bundle the compiled client of an environment with what it uses of openenv-ts")
    .argument("<file>", "the compiled client")
    .requiredOption("-o, --output <dir>", "folder for the bundle")
    .addHelpText("after", BUNDLE_EXAMPLES)
    .action(async (file: string, { output }: { output: string }) => {
      await bundleClient(resolve(file), resolve(output));
      exit(0);
    });
}

async function run(language: "python" | "typescript", target: string | undefined, flags: ClientFlags): Promise<void> {
  if (target !== undefined && flags.url !== undefined) throw new ConfigError("Pass a target or --url, not both.");
  const source = await readSource(flags.url ?? target ?? ".", flags.name);
  const dir = resolve(flags.output ?? defaultFolder(language, source));
  const files = language === "python" ? await writePython(source, dir, flags.base) : await writeTypeScript(source, dir);
  print(
    flags.json
      ? JSON.stringify({ dir, name: source.names.kebab, client: `${source.names.prefix}Env`, files }, null, 2)
      : `Wrote ${source.names.prefix}Env in ${describePath(dir)}: ${files.join(", ")}`,
  );
  exit(0);
}

/** A separate folder for each language, because both write a README.md. */
function defaultFolder(language: "python" | "typescript", { folder, names }: ClientSource): string {
  if (language === "typescript") return `${names.kebab}-client`;
  return folder ?? `${names.kebab}-python-client`;
}

async function writePython(
  { schemas, names, version }: ClientSource,
  dir: string,
  chosen: PythonBase | undefined,
): Promise<string[]> {
  const base = chosen ?? (await findPythonBase(dir, names)) ?? "openenv-ts";
  const types = readTypes(schemas, names.prefix);
  const readme = renderPythonReadme(names, types, base);
  return await writePackage(dir, {
    generated: renderPythonPackage(types, names, base),
    once: { "pyproject.toml": renderPyproject(names, version, base), "README.md": readme },
  });
}

/** Bundles what the client uses of openenv-ts, so that it runs without openenv-ts installed. */
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
