import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type CheckDefinition, demand, NotApplicable } from "openenv-ts/internal";
import { PYTHON_MARK, renderPythonPackage } from "../client/python/python-package.js";
import { readSource } from "../client/read-source.js";
import { readTypes } from "../client/read-types.js";

/** The Python client that lies in the environment's folder, held against what would be written now. */
export function pythonClientCheck(dir: string): CheckDefinition {
  return {
    id: "python_client",
    description: "the Python client in the folder is that of the contract",
    remedy: "Write it again: npm run client, or openenv client python.",
    run: async () => {
      const { schemas, names } = await readSource(dir, undefined);
      const files = Object.entries(renderPythonPackage(readTypes(schemas, names.prefix), names));
      const found = await Promise.all(files.map(([path]) => readFile(join(dir, path), "utf8").catch(() => "")));
      if (!found.some((text) => text.startsWith(PYTHON_MARK)))
        throw new NotApplicable("the folder has no Python client");
      const stale = files.filter(([, text], at) => wordsOf(text) !== wordsOf(found[at] ?? "")).map(([path]) => path);
      demand(stale.length === 0, `the contract has changed since the Python client was written: ${stale.join(", ")}`);
    },
  };
}

/** A formatter, or a longer name, breaks lines otherwise. */
function wordsOf(text: string): string {
  return text.replace(/[\s(),]+/g, "");
}
