/** Our validator against servers of the released Python package. */
import { checkServer, renderCheckReport } from "openenv-ts/testing";
import { describe, expect, test } from "vitest";
import { requirePython } from "../../test-support/requirement.js";
import { startPythonServer } from "./start-server.js";

const python = await requirePython();
const LIMIT = { timeout: 300_000 };

describe.skipIf(!python.available)("checkServer against the released Python server", () => {
  test("passes what it promises, and says what it does not: its clock is in the observation", LIMIT, async () => {
    await using server = await startPythonServer(python.path, 3);
    const options = { actions: [{ amount: 1 }, { amount: 2 }], rounds: 20 };
    const report = await checkServer(server.url, { ...options, ignore: ["observation.seen_at"] });
    expect(report.passed, renderCheckReport(report)).toBe(true);
    expect(report.standard).toEqual({ version: "1.0.0", mode: "simulation" });
    expect(report.checks.filter(({ status }) => status === "skipped")).toEqual([]);
    const strict = await checkServer(server.url, { ...options, leaveOut: ["capacity", "nothing_left"] });
    const failed = strict.checks.filter(({ status }) => status === "failed");
    expect(failed.map(({ id }) => id)).toEqual(["reset_resets", "seed_honoured"]);
    expect(failed.map(({ detail }) => detail).join()).toMatch(/seen_at: "[\d-]+T.* and "[\d-]+T/);
  });

  test("finds in one with tools what the reference leaves out", LIMIT, async () => {
    await using server = await startPythonServer(python.path, 3, "tools_server.py");
    const { checks } = await checkServer(server.url, { rounds: 3 });
    const failed = new Map(checks.flatMap(({ id, status, detail }) => (status === "failed" ? [[id, detail]] : [])));
    expect([...failed.keys()]).toEqual(["rewards", "schemas_hold", "episode_id"]);
    expect(failed.get("rewards")).toMatch(/step 1 gave the reward null/);
    expect(failed.get("schemas_hold")).toMatch(/reset breaks the schema .* 'tool_name'/);
  });
});
