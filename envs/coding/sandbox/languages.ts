import { execFile } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ConfigError } from "openenv-ts";
import * as z from "zod";

/** How an interpreter is started, with the folders and files it needs to read. */
export interface SandboxCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** Read by the interpreter where they are. */
  readonly reads: readonly string[];
  /** Read by it inside of bubblewrap only: where they are, and where they are seen. */
  readonly seen: readonly (readonly [from: string, to: string])[];
  /** Replaces `args` where nothing is seen elsewhere. */
  readonly argsOutside: readonly string[];
}

/** What a command is put in front of, and its interpreter has to be read as well. */
export interface Confiner {
  readonly file: string;
  readonly args: readonly string[];
  readonly reads: readonly string[];
}

const SEEN = "/sandbox";
const HEAP_MB = 128;
const PLACES = "import json, sys; print(json.dumps([sys.executable, sys.prefix, sys.base_prefix]))";
const placesSchema = z.tuple([z.string().min(1), z.string(), z.string()]);
/** The build copies them: they run outside of the server's process. */
const DRIVERS = new URL("../data/drivers/", import.meta.url);
const require = createRequire(import.meta.url);

/** @throws ConfigError when there is no such Python. */
export async function findPython(name: string): Promise<SandboxCommand> {
  const [file, ...prefixes] = await askPython(name);
  const args = ["-I", "-c", readDriver("driver.py")];
  return { file, args, argsOutside: args, reads: [file, realpathSync(file), ...prefixes], seen: [] };
}

/** What starts each interpreter, in either language. */
export function makeConfiner({ file, reads }: SandboxCommand): Confiner {
  return { file, args: ["-I", "-S", "-c", readDriver("confine.py")], reads };
}

/** As an argument it needs no file that another uid might not be allowed to read. */
function readDriver(name: string): string {
  return readFileSync(new URL(name, DRIVERS), "utf8");
}

export function findJavaScript(): SandboxCommand {
  const driver = fileURLToPath(new URL("driver.mjs", DRIVERS));
  const packages = ["quickjs-emscripten-core", "@jitl/quickjs-ffi-types", "@jitl/quickjs-wasmfile-release-sync"];
  const file = realpathSync(process.execPath);
  const args = [`--max-old-space-size=${HEAP_MB}`, "--disallow-code-generation-from-strings"];
  return {
    file,
    args: [...args, `${SEEN}/driver.mjs`],
    argsOutside: [...args, driver],
    reads: [file],
    seen: [
      [driver, `${SEEN}/driver.mjs`],
      ...packages.map((name) => [findPackage(name), `${SEEN}/node_modules/${name}`] as const),
    ],
  };
}

async function askPython(name: string): Promise<[string, string, string]> {
  try {
    const { stdout } = await promisify(execFile)(name, ["-I", "-c", PLACES], { timeout: 20_000 });
    return placesSchema.parse(JSON.parse(stdout));
  } catch (error) {
    const advice = "install Python 3.8 or newer, or name one with SANDBOX_PYTHON";
    throw new ConfigError(`${name} does not run as a Python interpreter: ${advice}`, { cause: error });
  }
}

/** The folder of an installed package, whatever its `exports` let through. */
function findPackage(name: string): string {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      return dirname(realpathSync(join(folder, name, "package.json")));
    } catch {
      // It is installed further up.
    }
  }
  throw new ConfigError(`The package ${name} is not installed; run: npm install`);
}
