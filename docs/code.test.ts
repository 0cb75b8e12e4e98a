/**
 * Runs the code of the README and of the guide, so that no page promises what does not work.
 *
 *     ```ts file=play.ts                            part of the page's own little project, type-checked
 *     ```ts file=play.ts run serve=environment.ts   also run, while `openenv serve` serves that; must exit with 0
 *     ```python file=play.py run serve=envs/echo    the same with the Python package, where there is one
 *
 * The address a page shows, port 8000 of this machine, is replaced by that of the server under test.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, test } from "vitest";
import { startCommand } from "../openenv/test-support/command-line.js";
import { requirePython } from "../openenv/test-support/requirement.js";

const ROOT = dirname(import.meta.dirname);
const CLI = join(ROOT, "openenv/bin/openenv.js");
const PROJECTS = join(ROOT, ".cache/docs-code");
const SHOWN_ADDRESS = /(?:localhost|127\.0\.0\.1):8000/g;
/** The Python package alone takes seconds to load. */
const TIME_LIMIT = { timeout: 180_000 };

interface Block {
  language: "ts" | "python";
  file: string;
  run: boolean;
  serve: string | undefined;
  code: string;
}

const python = await requirePython();
const guide = join(ROOT, "docs/guide");
const pages = [
  join(ROOT, "README.md"),
  ...readdirSync(guide)
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(guide, name)),
].map((path) => ({ name: basename(path, ".md"), blocks: parseBlocks(readFileSync(path, "utf8")) }));

beforeAll(() => {
  rmSync(PROJECTS, { recursive: true, force: true });
  for (const { name, blocks } of pages) for (const block of blocks) write(name, block, "localhost:8000");
  const config = { extends: "../../tsconfig.json", compilerOptions: { noEmit: true }, include: ["."] };
  writeFileSync(join(PROJECTS, "tsconfig.json"), JSON.stringify(config));
});

test("the code of every page type-checks", TIME_LIMIT, async () => {
  await attempt(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", PROJECTS], ROOT);
});

for (const { name, blocks } of pages) {
  for (const block of blocks.filter(({ run }) => run)) {
    test.skipIf(block.language === "python" && !python.available)(
      `${name}: ${block.file} runs`,
      TIME_LIMIT,
      async () => {
        const project = join(PROJECTS, name);
        const served = block.serve && [join(project, block.serve), join(ROOT, block.serve)].find(existsSync);
        await using server = served ? startCommand(["serve", served, "--port", "0"], { cwd: project }) : undefined;
        const [, address = "localhost:8000"] = (await server?.printed(/at http:\/\/([\w.:]+)/)) ?? [];
        const file = write(name, block, address);
        if (block.language === "python") await attempt(python.path, [file], project);
        else await attempt(process.execPath, [CLI, "run", file], project);
      },
    );
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

function write(page: string, block: Block, address: string): string {
  const path = join(PROJECTS, page, block.file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, block.code.replace(SHOWN_ADDRESS, address));
  return path;
}

async function attempt(command: string, args: string[], cwd: string): Promise<void> {
  try {
    await promisify(execFile)(command, args, { cwd, timeout: 120_000 });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${args.join(" ")}\n${stdout}${stderr}`);
  }
}
