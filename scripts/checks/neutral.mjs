/**
 * What loads with an entry, through every package on the way. The root, the client and the page load no builtin of Node;
 * the client loads no zod, ws and ajv, and the page no zod: both use the types of the HTTP bodies, not their schemas.
 * The server loads no MCP SDK, and nothing loads msgpackr. Dynamic imports load later.
 */
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "../root.mjs";

const ENTRIES = {
  "packages/openenv/dist/index.js": { builtins: false, forbidden: ["msgpackr"] },
  "packages/openenv/dist/client/index.js": { builtins: false, forbidden: ["zod", "ws", "ajv", "msgpackr"] },
  "packages/openenv/dist/server/index.js": { builtins: true, forbidden: ["msgpackr", "@modelcontextprotocol"] },
  "packages/web/src/main.tsx": { builtins: false, forbidden: ["zod", "msgpackr"], isBundle: true },
};

for (const [entry, { builtins, forbidden, isBundle = false }] of Object.entries(ENTRIES)) {
  const { metafile } = await build({
    entryPoints: [join(ROOT, entry)],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    outdir: "unused",
    loader: { ".svg": "file", ".woff2": "file" },
    jsx: "automatic",
    plugins: [{ name: "builtins-stay-names", setup: keepBuiltins }],
    logLevel: "error",
  });
  const isForbidden = (name) =>
    (!builtins && isBuiltin(name)) || forbidden.some((bare) => name.includes(`node_modules/${bare}/`));
  const loaded = reach(metafile.inputs, entry);
  const kept = isBundle ? bundled(metafile.outputs) : undefined;
  const found = loaded.find(({ name }) => isForbidden(name) && (kept?.has(name) ?? true));
  if (!found) continue;
  process.stdout.write(`${[...found.path, found.name].join("\n  -> ")}\n`);
  process.exitCode = 1;
}

/** The modules, and the builtins, of which something is left in a bundle: the page is built without what it does not use. */
function bundled(outputs) {
  return new Set(
    Object.values(outputs).flatMap(({ inputs, imports }) => [
      ...Object.keys(inputs).filter((name) => inputs[name].bytesInOutput > 0),
      ...imports.map(({ path }) => path),
    ]),
  );
}

function keepBuiltins(bundler) {
  bundler.onResolve({ filter: /.*/ }, ({ path }) =>
    isBuiltin(path) ? { path, external: true, sideEffects: false } : undefined,
  );
}

/** Every module that loads with `entry`, each with its chain of imports. */
function reach(inputs, entry) {
  const found = new Map([[entry, []]]);
  for (const [name, path] of found) {
    for (const { path: target, kind } of inputs[name]?.imports ?? []) {
      if (kind !== "dynamic-import" && !found.has(target)) found.set(target, [...path, name]);
    }
  }
  return [...found].map(([name, path]) => ({ name, path }));
}
