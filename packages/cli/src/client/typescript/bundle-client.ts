import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { Plugin } from "esbuild";
import { ConfigError } from "openenv-ts/internal";
import { describePath } from "../../project/bundle.js";
import { runEsbuild } from "../../project/esbuild.js";
import { packageRoot } from "../../project/package-root.js";

const NAME = "openenv-ts";
const LIBRARY = packageRoot(NAME);
/** Stands at the top of what is written: a folder without it belongs to somebody else and is not emptied. */
const MARK = "// Written by openenv client bundle.";
/** What a package of Node asks for with `require` inside of a module; nothing where there is no Node. */
const REQUIRE = "const require = globalThis.process?.getBuiltinModule?.('node:module').createRequire(import.meta.url);";

/**
 * Joins a compiled client with what it uses of openenv-ts and of that package's own dependencies, and copies the types
 * beside it. What else it imports, zod before all, stays an import.
 * @throws ConfigError when there is no such file, no declarations beside it, or something else in the folder of the result.
 */
export async function bundleClient(file: string, outDir: string): Promise<void> {
  const types = file.replace(/\.js$/, ".d.ts");
  for (const needed of [file, types]) {
    if (!existsSync(needed)) throw new ConfigError(`There is no ${describePath(needed)}; run tsc with "declaration".`);
  }
  await rejectForeign(outDir, file);
  const texts = await collectTypes(types, outDir);
  await rm(outDir, { recursive: true, force: true });
  await bundleCode(file, outDir);
  for (const [path, text] of texts) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

/** What was written before is replaced as a whole; nothing else may be lost. */
async function rejectForeign(outDir: string, file: string): Promise<void> {
  const entries = await readdir(outDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new ConfigError(`${describePath(outDir)} cannot be written (${error.message}); choose a folder with -o.`);
  });
  if (entries.length === 0) return;
  const before = await readFile(join(outDir, basename(file)), "utf8").catch(() => "");
  if (before.startsWith(MARK) && !file.startsWith(outDir + sep)) return;
  throw new ConfigError(
    `${describePath(outDir)} has other files in it, which would be lost; choose a new folder with -o.`,
  );
}

async function bundleCode(file: string, outDir: string): Promise<void> {
  try {
    await runEsbuild({
      entryPoints: [file],
      outdir: outDir,
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      target: "es2023",
      banner: { js: `${MARK}\n${REQUIRE}` },
      logLevel: "silent",
      plugins: [{ name: "openenv-only", setup: keepOthers } satisfies Plugin],
    });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`${describePath(file)} cannot be bundled: ${(error as Error).message}`);
  }
}

/** Packages that the client itself imports are its own to depend on; those of openenv-ts come along, but for zod. */
function keepOthers(bundler: Parameters<Plugin["setup"]>[0]): void {
  bundler.onResolve({ filter: /^[^./]/ }, ({ path, importer }) => {
    if (path === NAME || path.startsWith(`${NAME}/`) || path.startsWith("node:")) return undefined;
    const isZod = path === "zod" || path.startsWith("zod/");
    const isOwn = importer.startsWith(LIBRARY + sep) || importer.includes(`${sep}node_modules${sep}`);
    return isZod || !isOwn ? { path, external: true } : undefined;
  });
}

/** The declarations that `entry` leads to, by the path of their copy; those of openenv-ts in a folder of their own. */
async function collectTypes(entry: string, outDir: string): Promise<Map<string, string>> {
  const root = dirname(entry);
  const exports = await readExports();
  const placeOf = (path: string): string =>
    path.startsWith(LIBRARY + sep)
      ? join(outDir, NAME, relative(join(LIBRARY, "dist"), path))
      : join(outDir, relative(root, path));
  const found = new Map<string, string>();
  const queue = [entry];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const here = placeOf(path);
    if (found.has(here)) continue;
    const text = await readFile(path, "utf8");
    found.set(here, "");
    found.set(
      here,
      text.replace(SPECIFIER, (whole, before: string, specifier: string, after: string) => {
        const target = typesOf(specifier, path as string, exports);
        if (target === undefined) return whole;
        queue.push(target);
        const to = relative(dirname(here), placeOf(target))
          .replaceAll(sep, "/")
          .replace(/\.d\.ts$/, ".js");
        return `${before}${to.startsWith(".") ? to : `./${to}`}${after}`;
      }),
    );
  }
  return found;
}

const SPECIFIER = /(\bfrom\s+["']|\bimport\(["']|\bimport\s+["'])([^"']+)(["'])/g;

/** The file of declarations that a specifier names; undefined for a package that stays an import. */
function typesOf(specifier: string, importer: string, exports: Map<string, string>): string | undefined {
  if (specifier.startsWith(".")) return resolve(dirname(importer), specifier).replace(/\.js$/, ".d.ts");
  return exports.get(specifier);
}

async function readExports(): Promise<Map<string, string>> {
  const manifest = JSON.parse(await readFile(join(LIBRARY, "package.json"), "utf8")) as {
    exports: Record<string, string | { types: string }>;
  };
  const entries = Object.entries(manifest.exports).flatMap(([subpath, target]): [string, string][] =>
    typeof target === "string" ? [] : [[join(NAME, subpath).replaceAll(sep, "/"), join(LIBRARY, target.types)]],
  );
  return new Map(entries);
}
