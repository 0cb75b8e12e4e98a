import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import {
  callCommand,
  createProject,
  type Project,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { until } from "../../../../test-support/servers/cluster.js";
import { readManifest } from "../../../providers/src/manifest/read-manifest.js";

const ROOT = join(import.meta.dirname, "../../../..");
const TEMPLATES = join(ROOT, "packages/cli/templates");
const TEMPLATE = join(TEMPLATES, "env");
const BIN = join(ROOT, "packages/cli/bin/openenv.js");

interface Made {
  dir: string;
  name: string;
  module: string;
  client: string;
  files: string[];
}

async function init(project: Project, ...args: string[]): Promise<Made> {
  const { code, stdout, stderr } = await callCommand(["init", ...args, "--json"], { cwd: project.dir });
  expect(stderr).toBe("");
  expect(code).toBe(0);
  return JSON.parse(stdout) as Made;
}

/** Packing openenv-ts takes seconds. */
const TIME_LIMIT = { timeout: 300_000 };

test("the image's command holds in whatever folder it is started", async () => {
  const text = await readFile(join(TEMPLATE, "server/Dockerfile"), "utf8");
  expect(/^WORKDIR (.*)$/m.exec(text)?.[1]).toBe("/app");
  const command = JSON.parse(/^CMD (.*)$/m.exec(text)?.[1] ?? "[]") as string[];
  expect(command).toEqual(["sh", "/app/node_modules/openenv-ts/bin/reap.sh", "node", "/app/dist/server/app.js"]);
});

describe("openenv init", TIME_LIMIT, () => {
  test("makes everything that an environment has", async () => {
    await using project = await createProject();
    const made = await init(project, "my_env");
    const names = { name: "my-env", template: "game", module: "my_env", client: "MyEnv" };
    expect(made).toMatchObject({ dir: join(project.dir, "my_env"), ...names });
    const { version } = JSON.parse(await readFile(join(ROOT, "packages/openenv/package.json"), "utf8")) as {
      version: string;
    };
    expect(made.files).toEqual([
      ".dockerignore",
      ".gitignore",
      "README.md",
      "client.ts",
      "environment.test.ts",
      "models.ts",
      "my_env/__init__.py",
      "my_env/client.py",
      "my_env/models.py",
      "my_env/py.typed",
      "openenv.yaml",
      "package-lock.json",
      "package.json",
      "pyproject.toml",
      "server/Dockerfile",
      "server/app.ts",
      "server/environment.ts",
      "tsconfig.build.json",
      "tsconfig.json",
      `vendor/openenv-ts-${version}.tgz`,
      `vendor/openenv-ts-bench-${version}.tgz`,
      `vendor/openenv-ts-cli-${version}.tgz`,
      `vendor/openenv-ts-deploy-${version}.tgz`,
      `vendor/openenv-ts-gateway-${version}.tgz`,
      `vendor/openenv-ts-providers-${version}.tgz`,
      `vendor/openenv-ts-upstream-${version}.tgz`,
      `vendor/openenv-ts-web-${version}.tgz`,
    ]);
    expect(await listFiles(made.dir)).toEqual(made.files);
    expect((await stat(made.dir)).mode & 0o055).toBe(0o055);
  });

  test("names everything after it, with a README that makes it a Space; nothing is of this machine", async () => {
    await using project = await createProject();
    const { dir, files } = await init(project, "star-map");
    for (const file of files.filter((path) => !path.endsWith(".tgz"))) {
      const text = await readFile(join(dir, file), "utf8");
      expect(text, file).not.toMatch(/counter.?game/i);
      expect(text, file).not.toContain(ROOT);
      expect(text, file).not.toMatch(/"resolved": "http/);
    }
    expect(await readFile(join(dir, "star_map/__init__.py"), "utf8")).toContain('"StarMapEnv",');
    expect(await readFile(join(dir, "client.ts"), "utf8")).toContain("export const StarMapEnv");
    expect(await readManifest(dir)).toMatchObject({ name: "star_map", port: 8000, runtime: "node" });
    const readme = await readFile(join(dir, "README.md"), "utf8");
    // The Space that openenv push makes is called as the manifest says.
    for (const install of ["npm", "pip"]) {
      expect(readme).toContain(`${install} install git+https://huggingface.co/spaces/<owner>/star_map`);
    }
    const [, front = ""] = readme.split("---\n");
    expect(parse(front)).toEqual({
      title: "Star Map",
      emoji: expect.any(String),
      colorFrom: "blue",
      colorTo: "green",
      sdk: "docker",
      pinned: false,
      app_port: 8000,
      base_path: "/web",
      tags: ["openenv"],
    });
  });

  test("makes it in another folder, also in one that is there and empty, and says what to do next", async () => {
    await using project = await createProject();
    await mkdir(join(project.dir, "envs/chess"), { recursive: true });
    const { code, stdout } = await callCommand(["init", "chess", "-o", "envs"], { cwd: project.dir });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Created chess in envs\/chess\.\n\n {2}cd envs\/chess\n {2}npm install\n {2}npm start/);
    expect(await listFiles(join(project.dir, "envs/chess"))).toContain("server/environment.ts");
  });

  test("prints a path relative to where it was called, also one that leads up", async () => {
    await using project = await createProject({ "work/.keep": "" });
    for (const [parent, made] of [
      ["../games", "../games/chess"],
      ["./games", "games/chess"],
    ] as const) {
      const { stdout } = await callCommand(["init", "chess", "-o", parent], { cwd: join(project.dir, "work") });
      expect(stdout).toContain(`Created chess in ${made}.\n\n  cd ${made}\n`);
      expect(await listFiles(join(project.dir, "work", made))).toContain("server/environment.ts");
    }
  });

  test("makes it below the folder of -o, whatever its name is; elsewhere it prints the whole path, which a shell reads as one word", async () => {
    await using project = await createProject();
    await using other = await createProject();
    const { stdout } = await callCommand(["init", "chess", "-o", join(other.dir, "all games")], { cwd: project.dir });
    const made = join(other.dir, "all games/chess");
    expect(stdout).toContain(`Created chess in ${made}.\n\n  cd '${made}'\n`);
    expect(await listFiles(made)).toContain("server/environment.ts");
  });

  test("runs from a checkout in a separate folder by npx --prefix, and so does what it creates", async () => {
    const dir = await mkdtemp(join(tmpdir(), "openenv-npx-"));
    const npx = (cwd: string, ...args: string[]) =>
      promisify(execFile)("npx", ["--no", "--prefix", ROOT, "openenv", ...args], { cwd });
    try {
      expect((await npx(dir, "init", "chess")).stdout).toContain("Created chess in chess.");
      const { stdout } = await npx(join(dir, "chess"), "push", "--help");
      expect(stdout).toContain("Usage: openenv push");
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
});

describe("openenv init refuses, and changes nothing:", TIME_LIMIT, () => {
  async function refused(project: Project, args: string[], message: RegExp): Promise<void> {
    const before = await listFiles(project.dir);
    const { code, stdout, stderr } = await callCommand(["init", ...args], { cwd: project.dir });
    expect(stderr).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(await listFiles(project.dir)).toEqual(before);
  }

  test("a folder with something in it", async () => {
    await using project = await createProject({ "chess/notes.txt": "mine" });
    await refused(
      project,
      ["chess"],
      /^error: chess is not empty; choose another name, or another parent folder with -o\.$/m,
    );
  });

  test("a file in its place", async () => {
    await using project = await createProject({ chess: "mine" });
    await refused(project, ["chess"], /^error: Cannot write chess \(it is a file\); choose another name or folder\.$/m);
  });

  test("a file where its folder should be", async () => {
    await using project = await createProject({ envs: "mine" });
    await refused(project, ["chess", "-o", "envs"], /^error: Cannot write envs\/chess \(.+\); choose another/m);
  });

  test("a bad name, and suggests one", async () => {
    await using project = await createProject();
    await refused(project, ["Counter Game"], /^error: "Counter Game" is not a valid name: .+; try counter-game\.$/m);
    await refused(project, ["import"], /^error: "import" is reserved by Python .+; try import-env\.$/m);
  });

  test("a template that does not exist, or that Bun cannot serve", async () => {
    await using project = await createProject();
    await refused(
      project,
      ["chess", "--template", "chess"],
      /'chess' is invalid\. Allowed choices are game, tools, database/,
    );
    const message = /^error: The template database has a package for Node; use --runtime node, or another template\.$/m;
    await refused(project, ["chess", "--template", "database", "--runtime", "bun"], message);
  });

  test("no name, without a terminal to ask", async () => {
    await using project = await createProject();
    await refused(project, [], /^error: Name the environment: openenv init my-env$/m);
  });

  test.skipIf(process.getuid?.() === 0)("a folder that cannot be written", async () => {
    await using project = await createProject({ "envs/keep.txt": "" });
    await chmod(join(project.dir, "envs"), 0o555);
    await refused(
      project,
      ["chess", "-o", "envs"],
      /^error: Cannot write envs\/chess \(.+\); choose another folder\.$/m,
    );
  });
});

test("Ctrl-C while it works leaves nothing", TIME_LIMIT, async () => {
  await using project = await createProject();
  await using tools = await createProject({ npm: '#!/bin/sh\n: > "$0.begun"\nexec sleep 600\n' });
  await chmod(join(tools.dir, "npm"), 0o755);
  const PATH = `${tools.dir}:${process.env["PATH"]}`;
  await using running = startCommand(["init", "chess"], { cwd: project.dir, env: { PATH } });
  await until(async () => (await readdir(tools.dir)).includes("npm.begun"));
  expect(await readdir(project.dir)).toHaveLength(2);
  running.process.kill("SIGINT");
  expect(await running.exited).toBe(1);
  expect(running.stderr).toBe("error: interrupted by SIGINT\n");
  expect(await readdir(project.dir)).toEqual(["package.json"]);
});

test.skipIf(process.platform !== "linux")(
  "on a terminal the name is asked for, a bad one until it is good",
  TIME_LIMIT,
  async () => {
    await using project = await createProject();
    // script gives the command a terminal of its own, without a size.
    const command = `stty cols 200 rows 24; ${process.execPath} ${BIN} init`;
    const child = spawn("script", ["-qefc", command, "/dev/null"], { cwd: project.dir });
    let shown = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
    const seen = async (pattern: RegExp): Promise<void> => {
      while (!pattern.test(shown)) await once(child.stdout, "data");
    };
    await seen(/What is the name of the environment/);
    child.stdin.write("Star Map\r");
    await seen(/try star-map/);
    child.stdin.write("\u007f".repeat(8));
    child.stdin.write("star-map\r");
    const [code] = await once(child, "close");
    expect(shown).toContain("Created star-map in star-map.");
    expect(code).toBe(0);
    expect(await readdir(join(project.dir, "star-map"))).toContain("openenv.yaml");
  },
);

test.each([
  ["game", ["env"]],
  ["tools", ["tools", "env"]],
  ["database", ["database", "env"]],
])("the Python client of the template %s is what its contract gives", TIME_LIMIT, async (template, folders) => {
  await using project = await createProject();
  const { dir } = await init(project, "counter-game", "--template", template);
  // Its packages are those of this repository.
  const { code, stdout } = await callCommand(["client", "python", dir, "-o", "again", "--base", "openenv", "--json"], {
    cwd: project.dir,
  });
  expect(code).toBe(0);
  const { files } = JSON.parse(stdout) as { files: string[] };
  for (const file of files.filter((path) => path !== "README.md")) {
    const source = folders.map((folder) => join(TEMPLATES, folder, file)).find(existsSync) ?? file;
    expect(await readFile(join(project.dir, "again", file), "utf8"), file).toBe(await readFile(source, "utf8"));
  }
});

async function listFiles(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .sort();
}
