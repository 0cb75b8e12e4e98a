import { readManifest } from "@openenv-ts/providers/manifest";
import { expect, test } from "vitest";
import { createPackage, MANIFEST } from "../../../../test-support/environments/counter-package.js";
import { validateForPush } from "./validate.js";

test("an environment is published only with the level that its manifest requires", { timeout: 240_000 }, async () => {
  await using project = await createPackage();
  const check = (level: "runtime" | "semantic") =>
    validateForPush(project.dir, { level, signal: new AbortController().signal, onProgress: () => {} });
  expect((await readManifest(project.dir)).publish).toBeUndefined();
  expect(await check("runtime")).toMatchObject({ passed: true });
  await project.write("openenv.yaml", `${MANIFEST}\npublish: { level: semantic }\n`);
  expect((await readManifest(project.dir)).publish).toEqual({ level: "semantic" });
  expect(await check("semantic")).toEqual({
    passed: false,
    problems: expect.arrayContaining([expect.stringMatching(/^unknown: semantic\.oracle_max, .+\. To fix: declare/)]),
  });
});
