import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject } from "../../../../../test-support/commands/command-line.js";
import { findInside } from "./find-inside.js";

test("a path of the manifest leads nowhere but into the package", async () => {
  await using project = await createProject({ "server/Dockerfile": "FROM node:20-slim\n" });
  const { dir } = project;
  expect(await findInside(dir, "server/Dockerfile", "dockerfile")).toMatch(/[^.]\/server\/Dockerfile$/);
  expect(await findInside(dir, ".", "context")).toMatch(/^\/.*project-/);
  await symlink("/etc", join(dir, "away"));
  await expect(findInside(dir, "away", "context")).rejects.toThrow("away leads out of the package");
  await expect(findInside(dir, "none", "context")).rejects.toThrow("correct validation.execution.context");
});
