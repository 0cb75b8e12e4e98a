import { existsSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type EnvironmentDefinition, isEnvironmentDefinition } from "../env/environment.js";
import { ConfigError } from "../errors.js";
import { bundle, describePath } from "./bundle.js";

/**
 * Imports a module, compiling it first when it is or imports TypeScript, and returns the environment it exports.
 * @throws ConfigError when it does not compile or load, or exports none.
 */
export async function loadEnvironment(file: string): Promise<EnvironmentDefinition> {
  return pickEnvironment(await importModule(file), describePath(file));
}

/** True for a file that Node 20 cannot run as it is. */
export function isTypeScript(file: string): boolean {
  return /\.[cm]?tsx?$/.test(file);
}

async function importModule(file: string): Promise<Record<string, unknown>> {
  try {
    return isTypeScript(file) ? await importCompiled(file) : await importPlain(file);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`${describePath(file)} does not load: ${describeFailure(error)}`, { cause: error });
  }
}

async function importPlain(file: string): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(file).href);
  } catch (error) {
    if (wantsTypeScript(error)) return await importCompiled(file);
    // Node does not say where a module is malformed; the compiler does, by throwing.
    if (error instanceof SyntaxError) await bundle(file);
    throw error;
  }
}

async function importCompiled(file: string): Promise<Record<string, unknown>> {
  process.setSourceMapsEnabled(true);
  return await import(pathToFileURL((await bundle(file)).file).href);
}

/** A JavaScript module names a TypeScript file, or the `.js` that it will become. */
function wantsTypeScript(error: unknown): boolean {
  const { code, url } = error as { code?: string; url?: string };
  if (code === "ERR_UNKNOWN_FILE_EXTENSION") return true;
  if (code !== "ERR_MODULE_NOT_FOUND" || !url?.startsWith("file:")) return false;
  return existsSync(fileURLToPath(url).replace(/\.([cm]?)js$/, ".$1ts"));
}

function pickEnvironment(module: Record<string, unknown>, name: string): EnvironmentDefinition {
  if (isEnvironmentDefinition(module["default"])) return module["default"];
  const found = Object.entries(module).filter(([, value]) => isEnvironmentDefinition(value));
  const [first] = found;
  if (found.length === 1 && first) return first[1] as EnvironmentDefinition;
  if (found.length === 0) {
    throw new ConfigError(
      `${name} exports no environment; add: export default defineEnvironment(contract, () => new MyEnvironment())`,
    );
  }
  const names = found.map(([key]) => key).join(", ");
  throw new ConfigError(`${name} exports several environments (${names}); make one of them the default export.`);
}

/** The reason in one line, with the user's own line that failed. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}`;
  const [message = ""] = error.message.split("\n");
  const missing = /^Cannot find package '([^']+)'/.exec(message)?.[1];
  if (missing) return `the package ${missing} is not installed; run: npm install ${missing}`;
  const place = findPlace(error.stack ?? "");
  return place ? `${message} (${place})` : message;
}

const OWN_CODE = fileURLToPath(new URL("..", import.meta.url));

/** The first line of a stack that is neither Node's nor a package's. */
function findPlace(stack: string): string | undefined {
  for (const line of stack.split("\n")) {
    const match = /(?:^|\()((?:file:\/\/)?\/[^()]*?:\d+(?::\d+)?)\)?$/.exec(line.trim().replace(/^at (?:async )?/, ""));
    const place = match?.[1];
    const [, path = "", position = ""] = /^(.*?)((?::\d+)+)$/.exec(place ?? "") ?? [];
    const file = path.startsWith("file:") ? fileURLToPath(path) : path;
    if (file && !file.includes("/node_modules/") && !file.startsWith(OWN_CODE)) return describePath(file) + position;
  }
  return undefined;
}
