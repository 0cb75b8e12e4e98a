import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { callCommand, createProject } from "../../../../test-support/commands/command-line.js";
import { createPublishable } from "../../../../test-support/commands/publishable.js";

test.each([
  ["no docker command", { PATH: "/nowhere" }, [], 1, "docker command not found"],
  ["no Dockerfile of that name", {}, ["-f", "none"], 2, "No Dockerfile at none"],
  ["no such folder", {}, ["nowhere"], 2, "nowhere is not a folder"],
  ["no name for an image", {}, ["-t", "Chess Club"], 2, '"Chess Club" is not a valid image name'],
  ["an option for a name", {}, ["-t", "--push"], 2, '"--push" is not a valid image name'],
])("%s is one clear error", async (_case, env, args, code, text) => {
  await using project = await createPublishable();
  const done = await callCommand(["build", ...args], { cwd: project.dir, env });
  expect(done).toMatchObject({ code, stdout: "" });
  expect(done.stderr).toMatch(/^error: [^\n]*\n$/);
  expect(done.stderr).toContain(text);
});

test.each([["build"], ["push", "--dry-run"]])(
  "openenv %s refuses plugins, which an image does not load",
  async (...args) => {
    await using project = await createPublishable();
    const manifest = await readFile(join(project.dir, "openenv.yaml"), "utf8");
    await project.write("openenv.yaml", `${manifest}plugins: [plugins/closed.ts]\n`);
    const { code, stderr } = await callCommand(args, { cwd: project.dir });
    expect(code).toBe(2);
    expect(stderr).toMatch(/openenv\.yaml names plugins \(plugins\/closed\.ts\).* pass them to serve\(\)/);
  },
);

test("the error for a folder without a Dockerfile says where one is looked for", async () => {
  await using project = await createProject({ "environment.js": "" });
  const { code, stderr } = await callCommand(["build"], { cwd: project.dir });
  expect(code).toBe(2);
  expect(stderr).toContain("No server/Dockerfile or Dockerfile");
});
