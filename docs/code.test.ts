/**
 * Runs the code of the README and of the guide, so that no page promises what does not work.
 *
 *     ```ts file=play.ts                            part of the page's own little project, type-checked
 *     ```ts file=play.ts run serve=environment.ts   also run, while `openenv serve` serves that; must exit with 0
 *     ```python run serve=envs/echo                 the same with the Python package, where there is one
 *
 * The address a page shows, port 8000 of this machine, is replaced by that of the server under test.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { beforeAll, describe, test } from "vitest";
import { requirePython } from "../openenv/test-support/requirement.js";

const ROOT = dirname(import.meta.dirname);
const CLI = join(ROOT, "openenv/bin/openenv.js");
const PROJECTS = join(ROOT, ".cache/docs-code");
const SHOWN_ADDRESS = /(?:localhost|127\.0\.0\.1):8000/g;
const exec = promisify(execFile);

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

test("the code of every page type-checks", async () => {
  await attempt(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", PROJECTS], ROOT);
});

for (const { name, blocks } of pages) {
  describe(name, () => {
    for (const block of blocks.filter(({ run }) => run)) {
      test.skipIf(block.language === "python" && !python.available)(`${block.file} runs`, async () => {
        const project = join(PROJECTS, name);
        await using server = block.serve ? await serve(project, block.serve) : undefined;
        const file = write(name, block, server?.address ?? "localhost:8000");
        if (block.language === "python") await attempt(python.path, [file], project);
        else await attempt(process.execPath, [CLI, "run", file], project);
      });
    }
  });
}

function parseBlocks(page: string): Block[] {
  return [...page.matchAll(/^```(ts|python) +(\S.*)\n([\s\S]*?)^```$/gm)].map(
    ([, language, info = "", code = ""], index) => {
      const words = Object.fromEntries(info.split(/ +/).map((word) => word.split("=") as [string, string | undefined]));
      return {
        language: language as Block["language"],
        file: words["file"] ?? `block-${index + 1}.${language === "ts" ? "ts" : "py"}`,
        run: "run" in words,
        serve: words["serve"],
        code,
      };
    },
  );
}

function write(page: string, block: Block, address: string): string {
  const path = join(PROJECTS, page, block.file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, block.code.replace(SHOWN_ADDRESS, address));
  return path;
}

/** Serves a file of the page's project or a folder of the repository until it is disposed of. */
async function serve(project: string, target: string): Promise<AsyncDisposable & { address: string }> {
  const path = existsSync(join(project, target)) ? join(project, target) : join(ROOT, target);
  const port = await freePort();
  const child = spawn(process.execPath, [CLI, "serve", path, "--port", String(port)], { cwd: project });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const closed = once(child, "close");
  const address = `127.0.0.1:${port}`;
  for (let healthy = false; !healthy; healthy = await answers(`http://${address}/health`)) {
    if (child.exitCode !== null) throw new Error(`openenv serve ${target} ended:\n${output}`);
    await wait(50);
  }
  return {
    address,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await closed;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.ok,
    () => false,
  );
}

async function attempt(command: string, args: string[], cwd: string): Promise<void> {
  try {
    await exec(command, args, { cwd, timeout: 60_000 });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${args.join(" ")}\n${stdout}${stderr}`);
  }
}
