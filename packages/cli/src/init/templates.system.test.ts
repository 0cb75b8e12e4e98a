/** What `openenv init` makes of the other templates, outside of this repository. */
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "openenv-ts/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callCommand } from "../../../../test-support/commands/command-line.js";
import { INSTALL_FLAGS, npm, startProgram } from "../../../../test-support/commands/npm.js";
import { CLI_ROOT } from "../project/package-root.js";

/** npm installs for real. */
const TIME_LIMIT = { timeout: 300_000 };

interface Made {
  dir: string;
  template: string;
  files: string[];
}

let home: string;
const made = new Map<string, Made>();

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "openenv-templates-"));
  for (const template of ["game", "tools", "database"]) {
    const args = ["init", `star-${template}`, "--template", template, "--json"];
    const { code, stdout, stderr } = await callCommand(args, { cwd: home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    made.set(template, JSON.parse(stdout) as Made);
  }
  // As in the image, where no package runs scripts. The other template has fewer packages, in the same versions.
  await npm(folder("database"), "ci", "--ignore-scripts", ...INSTALL_FLAGS);
  await symlink(join(folder("database"), "node_modules"), join(folder("tools"), "node_modules"));
}, TIME_LIMIT.timeout);
afterAll(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));

describe.each([
  [
    "tools",
    "StarTools",
    {
      tests: 3,
      own: ["module/tools.py"],
      first: { type: "call_tool", tool_name: "search", arguments: { text: "mug" } },
    },
  ],
  ["database", "StarDatabase", { tests: 7, own: ["server/database.ts"], first: { sql: "SELECT 1" } }],
])("openenv init --template %s", TIME_LIMIT, (template, prefix, { tests, own, first }) => {
  test("has the files of the default template, named after it, and the same image", async () => {
    const names = (name: string) => made.get(name)?.files.map((file) => file.replace(`star_${name}`, "module")) ?? [];
    expect(made.get(template)?.template).toBe(template);
    expect(names(template).sort()).toEqual([...names("game"), ...own].sort());
    for (const file of made.get(template)?.files.filter((path) => !path.endsWith(".tgz")) ?? []) {
      expect(await read(template, file), file).not.toMatch(/counter.?game/i);
    }
    expect(await read(template, "client.ts")).toContain(`export const ${prefix}Env = {`);
    const dockerfile = await readFile(join(CLI_ROOT, "templates/env/server/Dockerfile"), "utf8");
    expect(await read(template, "server/Dockerfile")).toBe(dockerfile);
  });

  test("passes its tests", async () => {
    const { stdout } = await npm(folder(template), "test");
    expect(stdout).toMatch(new RegExp(`Tests\\s+${tests} passed`));
  });

  test("passes openenv validate without a warning", async () => {
    const { stdout } = await npm(folder(template), "exec", "--", "openenv", "validate", "--json");
    const { results, verdict } = JSON.parse(stdout) as Validated;
    const open = results.filter((result) => result.status !== "pass" && !result.not_applicable);
    expect({ open, verdict }).toEqual({ open: [], verdict: "pass" });
  });

  test("writes the same Python client again", async () => {
    const files = ["__init__.py", "client.py", "models.py"].map((file) => `star_${template}/${file}`);
    const readAll = () => Promise.all(files.map((file) => read(template, file)));
    const before = await readAll();
    await npm(folder(template), "run", "client");
    expect(await readAll()).toEqual(before);
  });

  test("serves a session when it is compiled", async () => {
    await npm(folder(template), "run", "build");
    const app = join(folder(template), "dist/server/app.js");
    await using server = startProgram(home, [process.execPath, app], { PORT: "0", WORKERS: "1" });
    const [, url = ""] = await server.printed(new RegExp(`star_${template} at (http:\\S+)`));
    await using session = await connect(url);
    await session.reset({ seed: 7 });
    expect(await session.step(first)).toMatchObject({ reward: 0, done: false });
  });
});

function folder(template: string): string {
  return made.get(template)?.dir ?? "";
}

function read(template: string, file: string): Promise<string> {
  return readFile(join(folder(template), file), "utf8");
}

interface Validated {
  results: { check_id: string; status: string; not_applicable?: true }[];
  verdict: string;
}
