/**
 * Holds the packages against the pictures of CONTRIBUTING.md: who may import whom, no cycle, one place that prints.
 * A test may import anything; nothing imports a test.
 */
import { existsSync, readdirSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { ROOT } from "../root.mjs";
import { readModule } from "./imports.mjs";

const EVERYONE = ["errors", "error-table", "faults", "util"];
const ENVIRONMENT_SIDE = ["environment", "validation", "contract", "protocol", ...EVERYONE];
/** Sessions use the turns and budgets of the sockets, and nothing else of them. */
const SCHEDULING = "#parts/sockets/scheduling";
const SERVER_SIDE = ["server", "session", ...ENVIRONMENT_SIDE, "#parts/sockets", SCHEDULING];
const ALL_PARTS = ["client", ...SERVER_SIDE];
/**
 * The layers that each layer may import, besides itself. An edge is a root file that combines client and server side: the
 * layers above both sides may import it, and entries (index.ts) may re-export it. `#parts/` are the private packages that
 * openenv-ts contains.
 */
export const MAY_IMPORT = {
  faults: [],
  "error-table": ["faults"],
  errors: ["error-table", "faults", "util"],
  util: ["errors"],
  protocol: EVERYONE,
  contract: ["protocol", ...EVERYONE],
  validation: ["contract", "protocol", ...EVERYONE],
  environment: ["validation", "contract", "protocol", ...EVERYONE],
  session: [...ENVIRONMENT_SIDE, SCHEDULING],
  server: SERVER_SIDE,
  compat: SERVER_SIDE,
  client: ["protocol", ...EVERYONE],
  agents: ["client", "protocol", ...EVERYONE],
  mcp: ["client", ...ENVIRONMENT_SIDE],
  edge: ALL_PARTS,
  testing: ["edge", ...ALL_PARTS],
  internal: ["testing", "edge", ...ALL_PARTS],
};
/** Layers that a single file of a lower layer may import. */
const MOUNTED_BY = { compat: "server/serve.ts" };
const EDGES = ["index.ts", "connect.ts", "connect-in-process.ts", "connect-tools.ts", "replay.ts", "serve.ts"];
/** Parts that use openenv-ts: they import its modules, also internal ones, as `#core/<module>`. */
const USES_CORE = ["cluster", "durable", "isolation", "rollouts"];
/** Which packages a package may import, by their entries. */
const PACKAGES = {
  sockets: [],
  cluster: [],
  durable: [],
  isolation: [],
  rollouts: [],
  openenv: [],
  deploy: ["openenv-ts"],
  providers: ["openenv-ts", "@openenv-ts/deploy"],
  bench: ["openenv-ts"],
  gateway: ["openenv-ts"],
  otel: ["openenv-ts"],
  upstream: ["openenv-ts", "@openenv-ts/providers"],
  cli: ["openenv-ts", "@openenv-ts/deploy", "@openenv-ts/providers", "@openenv-ts/bench", "@openenv-ts/upstream"],
  web: ["openenv-ts"],
};
const OURS = /^(openenv-ts|@openenv-ts\/[\w-]+)(?:\/|$)/;
/** Where the command line prints and the server writes its log. */
const PRINTERS = { cli: ["terminal/output.ts"], openenv: ["server/logging/logger.ts"] };

if (process.argv[1] === import.meta.filename) {
  const packages = Object.keys(PACKAGES).filter((name) => existsSync(join(ROOT, "packages", name, "src")));
  const problems = packages.flatMap((name) =>
    findProblems(join(ROOT, "packages", name, "src"), name).map((problem) => `${name}: ${problem}`),
  );
  process.stdout.write(problems.map((problem) => `${problem}\n`).join(""));
  process.exitCode = problems.length > 0 ? 1 : 0;
}

/** The sentences about every file under `src`, the sources of a package, that breaks a rule; none when all is well. */
export function findProblems(src, name) {
  const problems = [];
  const graph = new Map();
  for (const file of list(src)) {
    const { imports, prints } = readModule(join(src, file));
    for (const line of PRINTERS[name]?.includes(file) ? [] : prints)
      problems.push(`${file}:${line} prints; only ${PRINTERS.cli[0]} of the command line does.`);
    graph.set(file, new Set());
    for (const { specifier, kind, line } of imports) {
      const [, ours] = OURS.exec(specifier) ?? [];
      if (ours && !PACKAGES[name].includes(ours))
        problems.push(`${file}:${line} "${specifier}" is not a package of ${name}.`);
      if (specifier.startsWith("#") && !mayUsePart(file, specifier, name))
        problems.push(`${file}:${line} "${specifier}" is not allowed by the layers.`);
      if (!specifier.startsWith(".")) continue;
      const target = resolve(src, file, specifier);
      const problem = target ? judge(file, target, name) : "names no file";
      if (problem) problems.push(`${file}:${line} "${specifier}" ${problem}`);
      if (target && kind !== "dynamic") graph.get(file).add(target);
    }
  }
  // Components of the page contain each other: a value shows values.
  if (name === "web") return problems;
  return [...problems, ...findCycles(graph).map((cycle) => `import cycle: ${cycle.join(" -> ")}`)];
}

function list(src) {
  return readdirSync(src, { recursive: true })
    .map((file) => file.split(sep).join("/"))
    .filter((file) => /\.tsx?$/.test(file) && !/\.test(-d)?\.ts$/.test(file))
    .sort();
}

function resolve(src, from, specifier) {
  const path = posix.join(posix.dirname(from), specifier);
  const file = path.replace(/\.js$/, ".ts");
  const found = [file, `${file}x`].find((one) => existsSync(join(src, one)));
  if (found) return found;
  return existsSync(join(src, path)) ? path : undefined;
}

function judge(from, to, name) {
  if (to.startsWith("..")) return to === "../package.json" ? "" : "leaves the package's source.";
  if (/\.test(-d)?\.ts$/.test(to)) return "is a test.";
  if (name !== "openenv") return "";
  const layers = [layerOf(from), layerOf(to)];
  const unknown = layers.find((layer) => !(layer in MAY_IMPORT));
  if (unknown) return `uses "${unknown}", which is not in the list of layers.`;
  if (layers[0] === layers[1] || MAY_IMPORT[layers[0]].includes(layers[1])) return "";
  if (MOUNTED_BY[layers[1]] === from) return "";
  if (layers[1] === "edge" && posix.basename(from) === "index.ts") return "";
  return `is not allowed by the layers: ${layers[0]} -> ${layers[1]}.`;
}

/** A part that uses openenv-ts may use the parts of it as its server does. */
function mayUsePart(file, specifier, name) {
  if (USES_CORE.includes(name)) return isOfCore(specifier) || SERVER_SIDE.includes(specifier);
  return name === "openenv" && MAY_IMPORT[layerOf(file)]?.includes(specifier) === true;
}

function isOfCore(specifier) {
  const [, module] = /^#core\/([\w/-]+)\.js$/.exec(specifier) ?? [];
  return module !== undefined && existsSync(join(ROOT, "packages/openenv/src", `${module}.ts`));
}

function layerOf(file) {
  if (EDGES.includes(file)) return "edge";
  return file.includes("/") ? file.slice(0, file.indexOf("/")) : file.replace(/\.ts$/, "");
}

/** Depth-first search: a file that is already on the path closes a cycle. */
function findCycles(graph) {
  const done = new Set();
  const cycles = [];
  const path = [];
  const visit = (file) => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file]);
    if (path.includes(file) || done.has(file)) return;
    path.push(file);
    for (const target of graph.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return cycles;
}
