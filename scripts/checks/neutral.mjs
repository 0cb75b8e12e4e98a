/**
 * What loads with an entry, through every package on the way: no builtin of Node with the root and the client, for the
 * client none of zod, ws and ajv, for the server no MCP SDK, and nowhere msgpackr. Dynamic imports load later.
 */
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "../root.mjs";

const ENTRIES = {
  "index.js": { builtins: false, forbidden: ["msgpackr"] },
  "client/index.js": { builtins: false, forbidden: ["zod", "ws", "ajv", "msgpackr"] },
  "server/index.js": { builtins: true, forbidden: ["msgpackr", "@modelcontextprotocol"] },
};

for (const [entry, { builtins, forbidden }] of Object.entries(ENTRIES)) {
  const entryPoint = join(ROOT, "packages/openenv/dist", entry);
  const { metafile } = await build({
    entryPoints: [entryPoint],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    plugins: [{ name: "builtins-stay-names", setup: keepBuiltins }],
    logLevel: "error",
  });
  const isForbidden = (name) =>
    (!builtins && isBuiltin(name)) || forbidden.some((bare) => name.includes(`node_modules/${bare}/`));
  const found = reach(metafile.inputs, `packages/openenv/dist/${entry}`).find(({ name }) => isForbidden(name));
  if (!found) continue;
  process.stdout.write(`${[...found.path, found.name].join("\n  -> ")}\n`);
  process.exitCode = 1;
}

function keepBuiltins(bundler) {
  bundler.onResolve({ filter: /.*/ }, ({ path }) => (isBuiltin(path) ? { path, external: true } : undefined));
}

/** Every module that loads with `entry`, each with the path of imports that leads to it. */
function reach(inputs, entry) {
  const found = new Map([[entry, []]]);
  for (const [name, path] of found) {
    for (const { path: target, kind } of inputs[name]?.imports ?? []) {
      if (kind !== "dynamic-import" && !found.has(target)) found.set(target, [...path, name]);
    }
  }
  return [...found].map(([name, path]) => ({ name, path }));
}
