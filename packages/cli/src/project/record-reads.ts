import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

type Wrapped = (...args: unknown[]) => unknown;

const READS = ["readFileSync", "readFile", "createReadStream", "readdirSync", "readdir"];
const OPENS = ["openSync", "open"];
const PROMISES = ["readFile", "readdir", "open"];

/**
 * Calls `onRead` with the absolute path of each file and folder that code of this process reads from now on, also through
 * named imports of `node:fs`, until the returned function is called. What opens a file to write it does not count.
 */
export function recordReads(onRead: (path: string) => void): () => void {
  let recording = true;
  const wrap = (owner: Record<string, Wrapped>, name: string): void => {
    const original = owner[name] as Wrapped;
    const wrapped = function (this: unknown, ...args: unknown[]): unknown {
      const [path, flags] = args;
      if (recording && (!OPENS.includes(name) || isReadOnly(flags))) record(path, onRead);
      return original.apply(this, args);
    };
    owner[name] = Object.assign(wrapped, original);
  };
  for (const name of [...READS, ...OPENS]) wrap(fs as unknown as Record<string, Wrapped>, name);
  for (const name of PROMISES) wrap(fs.promises as unknown as Record<string, Wrapped>, name);
  syncBuiltinESMExports();
  return () => {
    recording = false;
  };
}

/** The flags of `open`; a callback in their place means none. */
function isReadOnly(flags: unknown): boolean {
  return typeof flags !== "string" && typeof flags !== "number"
    ? true
    : ["r", "rs", fs.constants.O_RDONLY].includes(flags);
}

function record(path: unknown, onRead: (path: string) => void): void {
  if (typeof path === "string") onRead(resolve(path));
  else if (Buffer.isBuffer(path)) onRead(resolve(path.toString()));
  else if (path instanceof URL && path.protocol === "file:") onRead(fileURLToPath(path));
}
