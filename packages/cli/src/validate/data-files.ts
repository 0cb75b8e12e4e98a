import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { checker } from "openenv-ts/internal";
import { bundle } from "../project/bundle.js";

/**
 * Checks that the compiled package includes the data files: those that the modules reference relative to themselves, and
 * those that were `read` while the environment was loaded.
 */
export function dataFilesCheck(dir: string, entry: string, read: ReadonlySet<string>): checker.CheckDefinition {
  return {
    id: "data_files",
    description: "the compiled package includes the files that the environment reads",
    remedy:
      'Keep data files in data/, refer to them as new URL("../data/<file>", import.meta.url), and copy the folder in ' +
      `the build script: ${COPY_DATA}`,
    run: async () => {
      const found = (await Promise.all((await bundle(entry)).inputs.map(findDataFiles))).flat();
      const build = await readBuildScript(dir);
      const named = new Set(found.map(({ path }) => path));
      const others = [...read].filter((path) => isDataFile(dir, path) && !named.has(path) && existsSync(path));
      const problems = [
        ...found.flatMap((file) => findProblem(dir, file, build) ?? []),
        ...others.flatMap((path) => {
          const problem = findProblemOfPath(dir, path, build);
          return problem ? `the environment reads ${relative(dir, path)}, ${problem}` : [];
        }),
      ];
      checker.demand(problems.length === 0, problems.join("; "));
    },
  };
}

/** False for packages, build outputs, and code, which tsc or an import includes. */
export function isDataFile(dir: string, path: string): boolean {
  const place = relative(dir, path);
  const inside = place !== "" && place !== ".." && !place.startsWith(`..${sep}`) && !isAbsolute(place);
  return inside && !CODE.test(path) && !place.split(sep).some((part) => NO_DATA.includes(part));
}

const NO_DATA = ["node_modules", ".openenv", "dist", "package.json"];
const COPY_DATA = `node -e "fs.cpSync('data', 'dist/data', { recursive: true })"`;

interface DataFile {
  /** The module that references the file, and the text of the reference. */
  module: string;
  text: string;
  /** Absolute, or undefined when it depends on the working directory. */
  path?: string;
}

const RELATIVE_URL = /\bnew URL\(\s*(["'`])([^"'`$:]+)\1\s*,\s*import\.meta\.url\s*,?\s*\)/g;
const READ_PATH = /\breadJsonl\(\s*(["'`])([^"'`$]+)\1\s*,?\s*\)/g;
/** Files that tsc or an import includes. */
const CODE = /\.[cm]?[jt]sx?$/;

/** The data files that a module references with string literals: relative to itself, or to the working directory. */
export async function findDataFiles(module: string): Promise<DataFile[]> {
  if (!CODE.test(module)) return [];
  const source = await readFile(module, "utf8");
  const urls = [...source.matchAll(RELATIVE_URL)].map(([, , text = ""]) => text);
  const paths = [...source.matchAll(READ_PATH)].map(([, , text = ""]) => text);
  return [
    ...urls
      .filter((text) => !CODE.test(text))
      .map((text) => ({ module, text, path: resolve(dirname(module), decodeURI(text)) })),
    ...paths.map((text) => ({ module, text })),
  ];
}

async function readBuildScript(dir: string): Promise<string | undefined> {
  const text = await readFile(join(dir, "package.json"), "utf8").catch(() => "{}");
  return (JSON.parse(text) as { scripts?: Record<string, string> }).scripts?.["build"];
}

/** Why the compiled package would not find a referenced file; undefined when it would. */
function findProblem(dir: string, { module, text, path }: DataFile, build: string | undefined): string | undefined {
  const named = `${relative(dir, module)} refers to ${JSON.stringify(text)}`;
  if (path === undefined) return `${named}, which depends on the working directory`;
  if (!existsSync(path)) return `${named}, which does not exist`;
  const problem = findProblemOfPath(dir, path, build);
  return problem && `${named}, ${problem}`;
}

/** A package without a build script runs its sources. */
function findProblemOfPath(dir: string, path: string, build: string | undefined): string | undefined {
  const place = relative(dir, path);
  if (place === ".." || place.startsWith(`..${sep}`)) return "which is outside the package";
  if (build === undefined) return undefined;
  if (place !== "data" && !place.startsWith(`data${sep}`)) return "which the build script does not copy";
  return /\bdata\b/.test(build) ? undefined : "but the build script does not copy data/";
}
