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
  /** Folder for the result; default `.openenv/` of the nearest package, so that its packages resolve. */
  outDir?: string;
}

export interface Bundle {
  /** The JavaScript module, with an inline source map. */
  file: string;
  /** Absolute paths of the user's files in the bundle. */
  inputs: string[];
  /** What the module imports of packages, such as `zod/v4`, and of the runtime. */
  imports: string[];
}

/** The source does not compile. `inputs` are the files that were read before the error. */
export class BundleError extends ConfigError {
  readonly inputs: string[];

  constructor(message: string, inputs: string[]) {
    super(message);
    this.inputs = inputs;
  }
}

/**
 * Bundles a TypeScript or JavaScript file and its relative imports into one module for Node 20. Packages stay external.
 * `import.meta.url`, `dirname` and `filename` keep the values of the source.
 * @throws BundleError with file, line and reason when the source does not compile, ConfigError when the compiler cannot
 *   run or the result cannot be written.
 */
export async function bundle(entry: string, options: BundleOptions = {}): Promise<Bundle> {
  const source = await realpath(entry).catch(() => {
    throw new BundleError(`No such file: ${describePath(resolve(entry))}.`, [resolve(entry)]);
  });
  const root = findPackageRoot(source);
  const outDir = options.outDir ?? join(root, ".openenv");
  const file = join(outDir, `${relative(root, source).replaceAll(/[\\/]/g, "-")}.mjs`);
  const inputs = new Set([source]);
  const { code, imports } = await compile(source, file, inputs);
  try {
    await writeAtomically(outDir, file, code);
  } catch (error) {
    throw new ConfigError(`Cannot write the compiled ${describePath(source)}: ${(error as Error).message}`);
  }
  return { file, inputs: [...inputs], imports };
}

/** The path as a user would type it: relative to the working directory when it is inside. */
export function describePath(file: string): string {
  const path = relative(process.cwd(), file);
  return path === "" ? "." : path.startsWith("..") ? file : path;
}

interface Compiled extends Pick<Bundle, "imports"> {
  code: Uint8Array;
}

async function compile(source: string, file: string, inputs: Set<string>): Promise<Compiled> {
  try {
    const result = await runEsbuild({
      entryPoints: [source],
      outfile: file,
      write: false,
      metafile: true,
      bundle: true,
      packages: "external",
      format: "esm",
      platform: "node",
      target: "node20",
      sourcemap: "inline",
      logLevel: "silent",
      define: Object.fromEntries(META_KEYS.map((key) => [`import.meta.${key}`, `${META}.${key}`])),
      plugins: [keepSourceLocations(inputs), resolveOwnPackages],
    });
    const [output] = result.outputFiles;
    if (!output) throw new BundleError(`${describePath(source)} produces no output.`, [...inputs]);
    const imports = Object.values(result.metafile.outputs).flatMap((made) => made.imports.map(({ path }) => path));
    return { code: output.contents, imports };
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

/** Records every file that is read, and adds a constant with the file's location to each that uses `import.meta`. */
function keepSourceLocations(inputs: Set<string>): Plugin {
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

/** Packages that resolve to the installation of this command when the importing file has none. */
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
  // Added to the first line (the second after `#!`), so that line numbers stay those of the source.
  const at = text.startsWith("#!") ? text.indexOf("\n") + 1 : 0;
  return `${text.slice(0, at)}const ${META} = ${JSON.stringify(meta)};${text.slice(at)}`;
}

/** Renames a complete file into place, because several processes may compile the same file at once. */
async function writeAtomically(outDir: string, file: string, code: Uint8Array): Promise<void> {
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
