/** What a browser loads at the start of a script that imports only the client: its entry and static chunks. */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { ROOT } from "../root.mjs";

/** kB (1,000 bytes) after gzip. */
const BUDGET = 20;
const ENTRY = join(ROOT, "packages/openenv/dist/client/index.js");

const { outputFiles, metafile } = await build({
  stdin: { contents: `import { connect } from ${JSON.stringify(ENTRY)}; console.log(connect);`, resolveDir: ROOT },
  ...{ bundle: true, minify: true, splitting: true, format: "esm", platform: "browser", target: "es2022" },
  ...{ write: false, metafile: true, outdir: "size", absWorkingDir: ROOT, logLevel: "error" },
});
const chunks = new Set();
collect(Object.keys(metafile.outputs).find((path) => metafile.outputs[path].entryPoint === "<stdin>"));
const bytes = [...chunks].reduce((sum, chunk) => sum + sizeOf(chunk), 0);
const size = `the client is ${(bytes / 1000).toFixed(1)} kB in ${chunks.size} files (gzip); the budget is ${BUDGET} kB`;
process.stdout.write(`note: ${size}\n`);
process.exitCode = bytes / 1000 > BUDGET ? 1 : 0;

function collect(path) {
  if (chunks.has(path)) return;
  chunks.add(path);
  for (const { path: imported, kind } of metafile.outputs[path].imports) {
    if (kind === "import-statement" && imported in metafile.outputs) collect(imported);
  }
}

function sizeOf(path) {
  const file = outputFiles.find((one) => one.path === join(ROOT, path));
  return gzipSync(file.contents, { level: 9 }).length;
}
