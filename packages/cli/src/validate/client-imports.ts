import { existsSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { checker } from "openenv-ts/internal";
import { bundle } from "../project/bundle.js";

/** What every client may import in addition to the runtime: the library and its only dependency. */
const ALLOWED = /^(?:openenv-ts|@openenv-ts\/[^/]+|zod)(?:\/|$)/;

/** Finds packages that the client imports, though only the environment needs them: a module that both use imports them. */
export function clientImportsCheck(dir: string): checker.CheckDefinition {
  return {
    id: "client_imports",
    description: "the client of the package needs no package of the environment",
    remedy: "Move what the client and the environment share, such as the contract, to a module without these imports.",
    run: async () => {
      const file = join(dir, "client.ts");
      if (!existsSync(file)) throw new checker.NotApplicable("the package has no client.ts");
      const others = [...new Set((await bundle(file)).imports)].filter(
        (name) => !isBuiltin(name) && !ALLOWED.test(name),
      );
      checker.demand(others.length === 0, `client.ts or a module that it uses imports ${others.join(", ")}`);
    },
  };
}
