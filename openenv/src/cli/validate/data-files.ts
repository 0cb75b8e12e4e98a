import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { type CheckDefinition, demand } from "../../testing/report.js";
import { bundle } from "../bundle.js";

/** The files that the modules name relative to themselves: the compiled package must find them too. */
export function dataFilesCheck(dir: string, entry: string): CheckDefinition {
  return {
    id: "data_files",
    description: "the files that the environment reads are in the compiled package",
    remedy:
      'Keep data files in data/, name them new URL("../data/<file>", import.meta.url), and let the build script ' +
      `copy the folder: ${COPY_DATA}`,
    run: async () => {
      const found = (await Promise.all((await bundle(entry)).inputs.map(findDataFiles))).flat();
      const build = await readBuildScript(dir);
      const problems = found.flatMap((file) => findProblem(dir, file, build) ?? []);
      demand(problems.length === 0, problems.join("; "));
    },
  };
}

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

/** What keeps a file from being found; a package without a build script runs its sources. */
function findProblem(dir: string, { module, text, path }: DataFile, build: string | undefined): string | undefined {
  const named = `${relative(dir, module)} names ${JSON.stringify(text)}`;
  if (path === undefined) return `${named}, which is found only in one working directory`;
  if (!existsSync(path)) return `${named}, and there is no such file`;
  const place = relative(dir, path);
  if (place === ".." || place.startsWith(`..${sep}`)) return `${named}, which is outside of the package`;
  if (build === undefined) return undefined;
  if (place !== "data" && !place.startsWith(`data${sep}`)) return `${named}, which the build does not copy`;
  return /\bdata\b/.test(build) ? undefined : `${named}, and the build script does not copy data/`;
}
