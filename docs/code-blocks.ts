/** Finds and runs the code blocks of the READMEs and the guide; `code.test.ts` says how they are marked. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { startCommand } from "../test-support/commands/command-line.js";

export const ROOT = dirname(import.meta.dirname);
const SHOWN_ADDRESS = /(?:localhost|127\.0\.0\.1):8000/g;
/** What keeps programs apart is not what a page shows. */
const WEAK_SANDBOX = { ALLOW_WEAK_SANDBOX: "1" };
/** The Python package alone takes seconds to load. */
export const TIME_LIMIT = { timeout: 180_000 };

interface Block {
  language: "ts" | "python";
  file: string;
  run: boolean;
  serve: string | undefined;
  code: string;
}

const guide = join(ROOT, "docs/guide");
/** The shipped environments, each with a README of its own. */
export const ENVIRONMENTS = readdirSync(join(ROOT, "envs"));
const pages = [
  ["README", join(ROOT, "README.md")],
  ["snippets", join(ROOT, "docs/reference/snippets.md")],
  ...readdirSync(guide)
    .filter((name) => name.endsWith(".md"))
    .map((name) => [basename(name, ".md"), join(guide, name)]),
  ...ENVIRONMENTS.map((name) => [`envs-${name}`, join(ROOT, "envs", name, "README.md")]),
].map(([name = "", path = ""]) => ({ name, blocks: parseBlocks(readFileSync(path, "utf8")) }));

/** The blocks of this language that are run, each with the title of its test. */
export const runnable = (language: Block["language"]) =>
  pages.flatMap(({ name, blocks }) =>
    blocks
      .filter((block) => block.run && block.language === language)
      .map((block) => ({ title: `${name}: ${block.file} runs`, page: name, block })),
  );

/** Writes every page's project below `folder`, which is emptied first. */
export function writeProjects(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const { name, blocks } of pages) for (const block of blocks) write(join(folder, name), block, "localhost:8000");
  const config = { extends: "../../tsconfig.json", compilerOptions: { noEmit: true }, include: ["."] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
}

/** Runs a block of a page's project with a command, while what it names with `serve` is served. */
export async function runBlock(project: string, block: Block, command: string[]): Promise<void> {
  const served = block.serve && [join(project, block.serve), join(ROOT, block.serve)].find(existsSync);
  await using server = served
    ? startCommand(["serve", served, "--port", "0"], { cwd: project, env: WEAK_SANDBOX })
    : undefined;
  const [, address = "localhost:8000"] = (await server?.printed(/at http:\/\/([\w.:]+)/)) ?? [];
  await attempt([...command, write(project, block, address)], project);
}

export async function attempt([command = "", ...args]: string[], cwd: string): Promise<void> {
  try {
    await promisify(execFile)(command, args, { cwd, timeout: 120_000 });
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
      run: / run\b/.test(flags),
      serve: / serve=(\S+)/.exec(flags)?.[1],
      code,
    }),
  );
}

function write(project: string, block: Block, address: string): string {
  const path = join(project, block.file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, block.code.replace(SHOWN_ADDRESS, address));
  return path;
}
