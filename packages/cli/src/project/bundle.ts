import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, realpath, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Loader, Message, Plugin } from "esbuild";
import { ConfigError } from "openenv-ts/internal";
import { isBuildFailure, runEsbuild } from "./esbuild.js";

export interface BundleOptions {
  /** Where the result is written; default `.openenv/` of the nearest package, so that its packages resolve. */
  outDir?: string;
}

export interface Bundle {
  /** The JavaScript module, with an inline source map. */
  file: string;
  /** Absolute paths of the user's own files in it. */
  inputs: string[];
}

/** The source does not compile. `inputs` are the files that were read until then. */
export class BundleError extends ConfigError {
  readonly inputs: string[];

  constructor(message: string, inputs: string[]) {
    super(message);
    this.inputs = inputs;
  }
}

/**
 * Joins a TypeScript or JavaScript file and what it imports by path into one module for Node 20; packages stay imports.
 * `import.meta.url`, `dirname` and `filename` keep telling the place of the source.
 * @throws BundleError with file, line and reason when the source does not compile, ConfigError when the compiler does not
 *   run or the result cannot be written.
 */
export async function bundle(entry: string, options: BundleOptions = {}): Promise<Bundle> {
  const source = await realpath(entry).catch(() => {
    throw new BundleError(`There is no file ${describePath(resolve(entry))}.`, [resolve(entry)]);
  });
  const root = findPackageRoot(source);
  const outDir = options.outDir ?? join(root, ".openenv");
  const file = join(outDir, `${relative(root, source).replaceAll(/[\\/]/g, "-")}.mjs`);
  const inputs = new Set([source]);
  const code = await compile(source, file, inputs);
  try {
    await writeWhole(outDir, file, code);
  } catch (error) {
    throw new ConfigError(`Cannot write the compiled ${describePath(source)}: ${(error as Error).message}`);
  }
  return { file, inputs: [...inputs] };
}

/** The path as a user would type it: relative to the working directory when it lies below. */
export function describePath(file: string): string {
  const path = relative(process.cwd(), file);
  return path === "" ? "." : path.startsWith("..") ? file : path;
}

async function compile(source: string, file: string, inputs: Set<string>): Promise<Uint8Array> {
  try {
    const result = await runEsbuild({
      entryPoints: [source],
      outfile: file,
      write: false,
      bundle: true,
      packages: "external",
      format: "esm",
      platform: "node",
      target: "node20",
      sourcemap: "inline",
      logLevel: "silent",
      define: Object.fromEntries(META_KEYS.map((key) => [`import.meta.${key}`, `${META}.${key}`])),
      plugins: [keepPlaceOfSources(inputs), resolveOwnPackages],
    });
    const [output] = result.outputFiles;
    if (!output) throw new BundleError(`${describePath(source)} compiles to nothing.`, [...inputs]);
    return output.contents;
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    throw new BundleError(error.errors.map(describeMessage).join("\n"), [...inputs]);
  }
}

const META = "__openenv_source";
const META_KEYS = ["url", "dirname", "filename"] as const;
const LOADERS: Record<string, Loader> = {
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".tsx": "tsx",
  ".js": "js",
  ".mjs": "js",
  ".cjs": "js",
  ".jsx": "jsx",
};

/** Records every file that is read, and gives each that uses `import.meta` a constant with its own place. */
function keepPlaceOfSources(inputs: Set<string>): Plugin {
  return {
    name: "openenv-sources",
    setup(build) {
      build.onLoad({ filter: /.*/, namespace: "file" }, async ({ path }) => {
        inputs.add(path);
        const loader = LOADERS[extname(path)];
        if (!loader) return undefined;
        const text = await readFile(path, "utf8");
        return { contents: text.includes("import.meta") ? withMeta(text, path) : text, loader };
      });
    },
  };
}

/** Packages that a file outside of any installation takes from that of this command. */
const OWN_PACKAGES = /^(openenv-ts|@openenv-ts\/[\w-]+|zod)(?:\/|$)/;

const resolveOwnPackages: Plugin = {
  name: "openenv-packages",
  setup(build) {
    build.onResolve({ filter: OWN_PACKAGES }, ({ path, importer }) => {
      const [, name = ""] = OWN_PACKAGES.exec(path) ?? [];
      if (isInstalled(name, importer)) return undefined;
      return { path: import.meta.resolve(path), external: true };
    });
  },
};

function isInstalled(name: string, importer: string): boolean {
  try {
    createRequire(importer).resolve(`${name}/package.json`);
    return true;
  } catch {
    return false;
  }
}

function withMeta(text: string, path: string): string {
  const meta = { url: pathToFileURL(path).href, dirname: dirname(path), filename: path };
  // On the first line (the second after `#!`), so that line numbers stay what they are in the source.
  const at = text.startsWith("#!") ? text.indexOf("\n") + 1 : 0;
  return `${text.slice(0, at)}const ${META} = ${JSON.stringify(meta)};${text.slice(at)}`;
}

/** Several processes may compile the same file at once: each reader sees a whole one. */
async function writeWhole(outDir: string, file: string, code: Uint8Array): Promise<void> {
  await mkdir(outDir, { recursive: true });
  if (basename(outDir) === ".openenv") await writeFile(join(outDir, ".gitignore"), "*\n");
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, code);
  await rename(draft, file);
}

/** The nearest folder with a package.json, or that of the file. */
export function findPackageRoot(file: string): string {
  const start = dirname(file);
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (folder === dirname(folder)) return start;
  }
}

function describeMessage({ text, location }: Message): string {
  if (!location) return text;
  return `${location.file}:${location.line}:${location.column + 1}: ${text}\n    ${location.lineText.trim()}`;
}
