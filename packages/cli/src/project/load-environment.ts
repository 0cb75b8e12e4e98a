import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { EnvironmentDefinition } from "openenv-ts";
import { ConfigError, loadPicker } from "openenv-ts/internal";
import { bundle, describePath } from "./bundle.js";
import { CLI_ROOT, packageRoot } from "./package-root.js";

/**
 * Imports a module, compiling it first when it is or imports TypeScript, and returns the environment it exports.
 * @throws ConfigError when it does not compile or load, or exports no environment.
 */
export async function loadEnvironment(file: string): Promise<EnvironmentDefinition> {
  return (await loadModule(file)).environment;
}

/** Loads as {@link loadEnvironment} does; `url` is that of the imported JavaScript module, which may be compiled. */
export async function loadModule(file: string): Promise<{ environment: EnvironmentDefinition; url: string }> {
  const { exports, url } = await importModule(file);
  const { pickEnvironment } = await loadPicker();
  return { environment: pickEnvironment(exports, describePath(file)), url };
}

/** True for a file that Node 20 cannot run without compiling. */
export function isTypeScript(file: string): boolean {
  return /\.[cm]?tsx?$/.test(file);
}

interface Imported {
  exports: Record<string, unknown>;
  url: string;
}

/** Imports a module, compiling it if necessary. @throws ConfigError when it does not compile or load. */
export async function importModule(file: string): Promise<Imported> {
  try {
    return isTypeScript(file) ? await importCompiled(file) : await importPlain(file);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`Cannot load ${describePath(file)}: ${describeFailure(error)}`, { cause: error });
  }
}

async function importPlain(file: string): Promise<Imported> {
  try {
    return await importFile(file);
  } catch (error) {
    if (needsBundle(error)) return await importCompiled(file);
    // Node does not report the location of a syntax error; bundling throws an error that does.
    if (error instanceof SyntaxError) await bundle(file);
    throw error;
  }
}

async function importCompiled(file: string): Promise<Imported> {
  process.setSourceMapsEnabled(true);
  return await importFile((await bundle(file)).file);
}

async function importFile(file: string): Promise<Imported> {
  const url = pathToFileURL(file).href;
  return { exports: await import(url), url };
}

/** True when an import names a TypeScript file, its future `.js` file, or a package that only the bundle resolves. */
function needsBundle(error: unknown): boolean {
  const { code, url } = error as { code?: string; url?: string };
  if (code === "ERR_UNKNOWN_FILE_EXTENSION") return true;
  if (/^Cannot find package '(?:openenv-ts|@openenv-ts\/[\w-]+|zod)'/.test(String((error as Error).message)))
    return true;
  if (code !== "ERR_MODULE_NOT_FOUND" || !url?.startsWith("file:")) return false;
  return existsSync(fileURLToPath(url).replace(/\.([cm]?)js$/, ".$1ts"));
}

/** The reason in one line, with the line of the user's code that failed. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}`;
  const message = error.message.split("\n").find((line) => line.trim() !== "") ?? error.name;
  const missing = /^Cannot find package '([^']+)'/.exec(message)?.[1];
  if (missing) return `the package ${missing} is not installed; run: npm install ${missing}`;
  const place = findPlace(error.stack ?? "");
  return place ? `${message} (${place})` : message;
}

/** The first line of a stack that is outside Node and packages. */
function findPlace(stack: string): string | undefined {
  const own = [CLI_ROOT, packageRoot("openenv-ts")];
  for (const line of stack.split("\n")) {
    const match = /(?:^|\()((?:file:\/\/)?\/[^()]*?:\d+(?::\d+)?)\)?$/.exec(line.trim().replace(/^at (?:async )?/, ""));
    const place = match?.[1];
    const [, path = "", position = ""] = /^(.*?)((?::\d+)+)$/.exec(place ?? "") ?? [];
    const file = path.startsWith("file:") ? fileURLToPath(path) : path;
    if (file && !file.includes("/node_modules/") && !own.some((root) => file.startsWith(root)))
      return describePath(file) + position;
  }
  return undefined;
}
