import { join } from "node:path";
import { checker } from "openenv-ts/internal";
import { expect, test } from "vitest";
import { createProject } from "../../../../test-support/commands/command-line.js";
import { clientImportsCheck } from "./client-imports.js";

const ENVS = join(import.meta.dirname, "../../../../envs");

async function check(dir: string) {
  const { checks } = await checker.runChecks("", [clientImportsCheck(dir)]);
  return checks;
}

test("a package that the client gets through a shared module is named", async () => {
  await using project = await createProject({
    "client.ts": 'export { limits } from "./models.js";',
    "models.ts": 'import { createClient } from "redis";\nexport const limits = { open: createClient };',
  });
  expect(await check(project.dir)).toMatchObject([
    { status: "failed", detail: expect.stringContaining("client.ts or a module that it uses imports redis") },
  ]);
});

test("types of a package, and packages that only the environment imports, are no problem", async () => {
  await using project = await createProject({
    "client.ts": 'import type { RedisClientType } from "redis";\nexport type Client = RedisClientType;',
    "server/environment.ts": 'import "redis";',
  });
  expect(await check(project.dir)).toMatchObject([{ status: "passed" }]);
  expect(await check(join(ENVS, "sql"))).toMatchObject([{ status: "passed" }]);
});

test("a package without a TypeScript client is not checked", async () => {
  await using project = await createProject({});
  expect(await check(project.dir)).toMatchObject([{ status: "skipped" }]);
});
