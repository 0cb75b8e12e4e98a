/** Writes the generated pages of docs/ from the build and the checks. `--check` only compares them. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../root.mjs";
import { API_PACKAGES, renderApi } from "./api.mjs";
import { renderErrors } from "./errors.mjs";
import { renderInternal } from "./internal.mjs";
import { renderLayers, renderOrder } from "./layers.mjs";
import { renderManifest } from "./manifest.mjs";
import { renderMetrics } from "./metrics.mjs";
import { renderSettings } from "./settings.mjs";

const { ERRORS } = await import(pathToFileURL(join(ROOT, "packages/openenv/dist/errors.js")).href);
const METRICS_TABLE = join(ROOT, "packages/openenv/dist/server/metrics/metrics.js");
const { METRICS } = await import(pathToFileURL(METRICS_TABLE).href);
const { manifestSchema } = await import(pathToFileURL(join(ROOT, "packages/providers/dist/manifest/schema.js")).href);
const config = await Promise.all(
  ["settings", "setting"].map(
    (name) => import(pathToFileURL(join(ROOT, `packages/openenv/dist/server/config/${name}.js`)).href),
  ),
);
const read = (file) => readFileSync(join(ROOT, file), "utf8");
const METRICS_PAGE = "docs/reference/metrics.md";
const SETTINGS_PAGE = "docs/reference/settings.md";
const LAYERS_PAGE = "docs/design/layers.md";
const ROOMS_PAGE = "CONTRIBUTING.md";
const PACKAGES_PAGE = "docs/design/packages.md";
const guides = [
  ...readdirSync(join(ROOT, "docs/guide"), { recursive: true })
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/guide/${name}`),
  "docs/reference/snippets.md",
].map((page) => ({ page, text: read(page) }));
const api = renderApi(
  API_PACKAGES.map((name) => join(ROOT, "packages", name)),
  guides,
);
const settings = renderSettings(
  read(SETTINGS_PAGE),
  read("packages/openenv/dist/server/config/settings.d.ts"),
  Object.assign({}, ...config),
);
const pages = {
  "docs/reference/errors.md": renderErrors(ERRORS),
  "docs/reference/api.md": api.page,
  "docs/reference/manifest.md": renderManifest(manifestSchema),
  [LAYERS_PAGE]: renderLayers(read(LAYERS_PAGE)),
  [ROOMS_PAGE]: renderOrder(read(ROOMS_PAGE)),
  [PACKAGES_PAGE]: renderInternal(read(PACKAGES_PAGE)),
  [METRICS_PAGE]: renderMetrics(read(METRICS_PAGE), METRICS),
  [SETTINGS_PAGE]: settings.page,
};
const problems = [...api.problems, ...settings.problems];

for (const [page, text] of Object.entries(pages)) {
  const path = join(ROOT, page);
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
  if (process.argv.includes("--check")) {
    problems.push(`${page} is outdated; run: npm run docs`);
  } else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    process.stdout.write(`wrote ${page}\n`);
  }
}
process.stdout.write(problems.map((problem) => `${problem}\n`).join(""));
process.exitCode = problems.length > 0 ? 1 : 0;
