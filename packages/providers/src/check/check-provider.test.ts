import { checkProvider, type Provider, processProvider, type StartSpec } from "@openenv-ts/providers";
import { expect, test } from "vitest";
import { counterModule, createProject } from "../../../../test-support/commands/command-line.js";

/** Drops what it does not know, and says of every failure that it had no time. */
function sloppyProvider(): Provider {
  return {
    name: "sloppy",
    start: ({ env, timeoutMs, signal, onProgress, ...rest }) => {
      const directory = "directory" in rest ? rest.directory : "nowhere";
      return processProvider().start({ directory, env, timeoutMs, signal, onProgress } as StartSpec);
    },
  };
}

test("a provider that takes what it does not know is told so, and what cannot be tried is skipped", async () => {
  await using project = await createProject({ "environment.mjs": counterModule().replace(": number", "") });
  const { passed, checks } = await checkProvider({
    create: sloppyProvider,
    works: { directory: project.dir },
    actions: [{ amount: 1 }],
    broken: { "no such folder": { spec: { directory: "nowhere" }, code: "START_TIMEOUT" } },
  });
  const withStatus = (wanted: string) => checks.filter(({ status }) => status === wanted).map(({ id }) => id);
  expect(passed).toBe(false);
  expect(withStatus("failed")).toEqual(["unknown_options", "replicas", "broken_no_such_folder"]);
  expect(withStatus("skipped")).toEqual(["unavailable", "caller_sigint", "caller_sigterm", "caller_sigkill"]);
  expect(checks.find(({ id }) => id === "broken_no_such_folder")?.detail).toMatch(/START_TIMEOUT.*There is no file/);
}, 300_000);
