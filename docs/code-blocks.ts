/** Finds and runs the code blocks of the READMEs and the guide; `code.test.ts` says how they are marked. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { type Running, startCommand } from "../test-support/commands/command-line.js";

export const ROOT = dirname(import.meta.dirname);
const SHOWN_ADDRESS = /(?:localhost|127\.0\.0\.1):8000/g;
/** The pages do not show what keeps programs apart. */
const WEAK_SANDBOX = { ALLOW_WEAK_SANDBOX: "1" };
/** The Python package alone takes seconds to load. */
export const TIME_LIMIT = { timeout: 600_000 };

interface Block {
  language: "ts" | "python";
  file: string;
  /** When it is run: with the language's other blocks, with torch, or never. */
  run: "run" | "training" | undefined;
  serve: string | undefined;
  code: string;
}

const guide = join(ROOT, "docs/guide");
/** The shipped environments, each with a README. */
export const ENVIRONMENTS = readdirSync(join(ROOT, "envs"));
const pages = [
  ["README", join(ROOT, "README.md")],
  ["snippets", join(ROOT, "docs/reference/snippets.md")],
  ...readdirSync(guide, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => [name.replace(/\.md$/, ""), join(guide, name)]),
  ...ENVIRONMENTS.map((name) => [`envs-${name}`, join(ROOT, "envs", name, "README.md")]),
].map(([name = "", path = ""]) => ({ name, blocks: parseBlocks(readFileSync(path, "utf8")) }));

/** Writes every page's project below `folder`, which is emptied first. */
export function writeProjects(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const { name, blocks } of pages) {
    for (const { file, code } of blocks) {
      const path = join(folder, name, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, code);
    }
  }
  const config = { extends: "../../tsconfig.json", compilerOptions: { declaration: false }, include: ["."] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
}

/**
 * Runs the blocks of a kind in one process, while what they name with `serve` is served. `command` takes the files
 * as arguments, and ends by itself only when none of them leaves anything open.
 */
export async function runBlocks(
  projects: string,
  { language, run = "run" }: Pick<Block, "language"> & Partial<Pick<Block, "run">>,
  command: string[],
  timeout = 120_000,
): Promise<void> {
  const servers = new Map<string, Running>();
  try {
    const blocks = pages.flatMap(({ name, blocks }) =>
      blocks.map((block) => ({ block, project: join(projects, name) })),
    );
    const files = blocks
      .filter(({ block }) => block.run === run && block.language === language)
      .map(async ({ block, project }) => {
        const file = join(project, block.file.replace(/\.ts$/, ".js"));
        const served = block.serve && [join(project, block.serve), join(ROOT, block.serve)].find(existsSync);
        if (served === undefined) return file;
        const server =
          servers.get(served) ?? startCommand(["serve", served, "--port", "0"], { cwd: project, env: WEAK_SANDBOX });
        servers.set(served, server);
        const [, address = ""] = await server.printed(/at http:\/\/([\w.:]+)/);
        writeFileSync(file, readFileSync(file, "utf8").replace(SHOWN_ADDRESS, address));
        return file;
      });
    await attempt([...command, ...(await Promise.all(files))], ROOT, timeout);
  } finally {
    for (const server of servers.values()) await server[Symbol.asyncDispose]();
  }
}

export async function attempt([command = "", ...args]: string[], cwd: string, timeout = 120_000): Promise<void> {
  try {
    await promisify(execFile)(command, args, { cwd, timeout });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${args.join(" ")}\n${stdout}${stderr}`);
  }
}

function parseBlocks(page: string): Block[] {
  return [...page.matchAll(/^```(ts|python) file=(\S+)(.*)\n([\s\S]*?)^```$/gm)].map(
    ([, language, file = "", flags = "", code = ""]) => ({
      language: language as Block["language"],
      file,
      run: / (run|training)\b/.exec(flags)?.[1] as Block["run"],
      serve: / serve=(\S+)/.exec(flags)?.[1],
      code,
    }),
  );
}
