import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { checker } from "openenv-ts/internal";
import { findPythonBase, renderPythonPackage } from "../client/python/python-package.js";
import { readSource } from "../client/read-source.js";
import { readTypes } from "../client/read-types.js";

/** Compares the Python client in the environment's folder with what `openenv client python` would write. */
export function pythonClientCheck(dir: string): checker.CheckDefinition {
  return {
    id: "python_client",
    description: "the Python client in the folder matches the contract",
    remedy: "Generate it again: npm run client, or openenv client python.",
    run: async () => {
      const { schemas, names } = await readSource(dir, undefined);
      const base = await findPythonBase(dir, names);
      if (base === undefined) throw new checker.NotApplicable("the folder has no Python client");
      const files = Object.entries(renderPythonPackage(readTypes(schemas, names.prefix), names, base));
      const found = await Promise.all(files.map(([path]) => readFile(join(dir, path), "utf8").catch(() => "")));
      const stale = files.filter(([, text], at) => wordsOf(text) !== wordsOf(found[at] ?? "")).map(([path]) => path);
      checker.demand(stale.length === 0, `the Python client does not match the contract: ${stale.join(", ")}`);
    },
  };
}

/** Ignores line breaks, which depend on the formatter and the length of names. */
function wordsOf(text: string): string {
  return text.replace(/[\s(),]+/g, "");
}
