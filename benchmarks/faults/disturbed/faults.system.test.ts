import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { requirePython, requireRedis } from "../../../test-support/requirement.js";

const RUN = join(import.meta.dirname, "../main.mjs");
const [python, redis] = [await requirePython(), await requireRedis()];

describe.each([
  ["faults", true],
  ["address", python.available],
  ["restored", true],
  ["redis", redis.available],
])("a short run of the part %s", (name, available) => {
  test.skipIf(!available)(
    "makes faults, and no event is missing, repeated or wrong",
    { timeout: 600_000 },
    async () => {
      const env = { ...process.env, OPENENV_PYTHON: python.path, OPENENV_REDIS: redis.path };
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [RUN, "--quick", "--only", name], { env });
      expect(stderr.split("\n").filter((line) => line.includes("undisturbed: "))).toEqual([]);
      expect(stdout).toMatch(/: faults \(faults\) \| [1-9][\d,]{2,} \|/);
      expect(stdout).toMatch(/: executed more than once \(events\) \| \d+ \| <= \d+ \| yes \|/);
      expect(stdout.split("\n").filter((line) => line.includes("**no**"))).toEqual([]);
    },
  );
});
