import { mkdir, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Project } from "../../../../test-support/commands/command-line.js";
import { createPublishable } from "../../../../test-support/commands/publishable.js";
import { readManifest } from "../../../providers/src/manifest/read-manifest.js";
import { stageSpace } from "./stage-space.js";

async function stage({ dir }: Project) {
  return await stageSpace({ dir, manifest: await readManifest(dir) });
}

test("secrets, packages and the repository stay at home, and what .gitignore names", async () => {
  await using project = await createPublishable({
    ".env": "KEY=1",
    "server/.env.local": "KEY=1",
    ".npmrc": "//host/:_authToken=1",
    "server/tls.pem": "-----",
    ".git/config": "x",
    "node_modules/a/index.js": "x",
    "server/node_modules/a/index.js": "x",
    "dist/server/app.js": "x",
    ".gitignore": "notes/\n*.tmp\n",
    "notes/one.md": "x",
    "a.tmp": "x",
    "vendor/a.tgz": "x",
    ".env.example": "KEY=",
  });
  await using staged = await stage(project);
  expect(staged.paths).toEqual([
    ".dockerignore",
    ".env.example",
    ".gitignore",
    "Dockerfile",
    "README.md",
    "openenv.yaml",
    "package-lock.json",
    "package.json",
    "server/app.ts",
    "server/environment.ts",
    "vendor/a.tgz",
  ]);
  expect(staged.secret).toEqual([".env", ".npmrc", "server/.env.local", "server/tls.pem"]);
  for (const path of staged.paths) await readFile(join(staged.dir, path));
});

test("what openenv build builds is what is published, and the folder itself is not changed", async () => {
  await using project = await createPublishable({
    Dockerfile: "FROM root:1\n",
    "server/Dockerfile": "FROM server:1\n",
  });
  await using staged = await stage(project);
  expect(await readFile(join(staged.dir, "Dockerfile"), "utf8")).toBe("FROM server:1\nENV ENABLE_WEB_INTERFACE=true\n");
  expect(await readFile(join(project.dir, "Dockerfile"), "utf8")).toBe("FROM root:1\n");
  expect(await readFile(join(project.dir, "README.md"), "utf8")).toBe("# Counter\n\nCounts.\n");
});

const write = (path: string, text: string) => (dir: string) => writeFile(join(dir, path), text);
const depend = (version: string) =>
  write("package.json", JSON.stringify({ type: "module", dependencies: { "openenv-ts": version } }));

test.each<[string, (dir: string) => Promise<void>, string]>([
  [
    "a symbolic link to a file",
    (dir) => symlink("/etc/hostname", join(dir, "data.txt")),
    "data.txt is a symbolic link",
  ],
  ["a symbolic link to a folder", (dir) => symlink("..", join(dir, "up")), "up is a symbolic link"],
  ["a dependency outside of the folder", depend("file:../openenv"), "not among the published files"],
  ["a dependency by its whole path", depend("file:/vendor/openenv.tgz"), "not among the published files"],
  ["a dependency that is not there", depend("file:vendor/none.tgz"), "not among the published files"],
  ["a package.json that is none", write("package.json", "[]"), "package.json is no JSON object"],
  ["no lock file", write(".gitignore", "package-lock.json\n"), "no package-lock.json"],
  ["front matter that is no YAML", write("README.md", "---\n{\n---\n"), "front matter of README.md"],
  ["a huge file", huge, "data/huge.bin has 501 MB, more than 500 MB"],
])("%s is refused", async (_case, prepare, text) => {
  await using project = await createPublishable();
  await prepare(project.dir);
  await expect(stage(project)).rejects.toThrow(text);
});

/** Takes no room on the disk. */
async function huge(dir: string): Promise<void> {
  await mkdir(join(dir, "data"));
  await writeFile(join(dir, "data/huge.bin"), "");
  await truncate(join(dir, "data/huge.bin"), 501e6);
}
