import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../packages/cli/bin/openenv.js", import.meta.url));

/** What the tests of agents give as the key of their model. */
export const KEY = "key-of-the-test";

/** Runs the story of a folder to its end, as a user does, with a model's settings in the environment. */
export function runAgent(
  story: string,
  variables: Record<string, string>,
): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const main = fileURLToPath(new URL(`${story}/main.ts`, import.meta.url));
  const env = { ...process.env, OPENAI_MODEL: "small-model", OPENAI_API_KEY: KEY, ...variables };
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, "run", main], { env, timeout: 90_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}
