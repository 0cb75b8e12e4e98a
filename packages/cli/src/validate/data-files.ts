import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { type CheckDefinition, demand } from "openenv-ts/internal";
import { bundle } from "../project/bundle.js";

/**
 * The files that the modules name relative to themselves, and those that were `read` when the environment was loaded: the
 * compiled package must find them too.
 */
export function dataFilesCheck(dir: string, entry: string, read: ReadonlySet<string>): CheckDefinition {
  return {
    id: "data_files",
    description: "the files that the environment reads are in the compiled package",
    remedy:
      'Keep data files in data/, name them new URL("../data/<file>", import.meta.url), and let the build script ' +
      `copy the folder: ${COPY_DATA}`,
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
      demand(problems.length === 0, problems.join("; "));
    },
  };
}

/** Packages, compiled code and what this command writes are none; neither is what tsc or an import carries over. */
export function isDataFile(dir: string, path: string): boolean {
  const place = relative(dir, path);
  const inside = place !== "" && place !== ".." && !place.startsWith(`..${sep}`) && !isAbsolute(place);
  return inside && !CODE.test(path) && !place.split(sep).some((part) => NO_DATA.includes(part));
}

const NO_DATA = ["node_modules", ".openenv", "dist", "package.json"];
const COPY_DATA = `node -e "fs.cpSync('data', 'dist/data', { recursive: true })"`;

interface DataFile {
  /** The module that names it, and how. */
  module: string;
  text: string;
  /** Absolute, or undefined where it depends on the working directory. */
  path?: string;
}

const RELATIVE_URL = /\bnew URL\(\s*(["'`])([^"'`$:]+)\1\s*,\s*import\.meta\.url\s*,?\s*\)/g;
const READ_PATH = /\breadJsonl\(\s*(["'`])([^"'`$]+)\1\s*,?\s*\)/g;
/** What tsc or an import carries over. */
const CODE = /\.[cm]?[jt]sx?$/;

/** The data files that a module names by literals: relative to itself, or to the working directory. */
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

/** What keeps a file that a module names from being found. */
function findProblem(dir: string, { module, text, path }: DataFile, build: string | undefined): string | undefined {
  const named = `${relative(dir, module)} names ${JSON.stringify(text)}`;
  if (path === undefined) return `${named}, which is found only in one working directory`;
  if (!existsSync(path)) return `${named}, and there is no such file`;
  const problem = findProblemOfPath(dir, path, build);
  return problem && `${named}, ${problem}`;
}

/** A package without a build script runs its sources. */
function findProblemOfPath(dir: string, path: string, build: string | undefined): string | undefined {
  const place = relative(dir, path);
  if (place === ".." || place.startsWith(`..${sep}`)) return "which is outside of the package";
  if (build === undefined) return undefined;
  if (place !== "data" && !place.startsWith(`data${sep}`)) return "which the build does not copy";
  return /\bdata\b/.test(build) ? undefined : "and the build script does not copy data/";
}
