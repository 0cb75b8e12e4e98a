import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Project } from "../../../../test-support/commands/command-line.js";
import { createPackage, MANIFEST, PLAN } from "../../../../test-support/environments/counter-package.js";
import { type Result, renderPackageReport } from "./report/package-report.js";
import type { Level } from "./report/policy.js";
import { validatePackage } from "./validate-package.js";

async function validate(project: Project, level: Level = "runtime") {
  const report = await validatePackage(project.dir, {
    level,
    policy: undefined,
    skipBuild: true,
    actions: undefined,
    ignore: [],
    leaveOut: [],
    rounds: 3,
    signal: new AbortController().signal,
    onProgress: () => {},
  });
  const of = (id: string): Result | undefined => report.results.find(({ check_id }) => check_id === id);
  return { report, of, failed: report.results.filter(({ status }) => status === "fail" || status === "error") };
}

describe("what is wrong with a package is found before its server is started", () => {
  test.each([
    ["no block", "name: counter_env\n", /has no block `validation`/],
    [
      "a wrong type",
      MANIFEST.replace("cpu: 1", "cpu: many"),
      /openenv.yaml:5: validation.resources.cpu must be a number/,
    ],
    ["no YAML", "name: [\n", /openenv.yaml:/],
    ["an environment that is not there", `${MANIFEST}environment: server/nope.ts\n`, /names server\/nope.ts as the/],
    ["floor_margin", MANIFEST.replace("floor_margin: 0.1", "floor_margin: 0"), /floor_margin is 0, below .* 0.1/],
    [
      "oracle_tolerance",
      MANIFEST.replace("floor_", "oracle_tolerance: 0.2, floor_"),
      /oracle_tolerance is 0.2, above .* 0.1/,
    ],
    [
      "variance_tolerance",
      MANIFEST.replace("floor_", "variance_tolerance: 0.3, floor_"),
      /variance_tolerance is 0.3, above .* 0.2/,
    ],
    ["episode_timeout_s", MANIFEST.replace("_s: 60", "_s: 4000"), /episode_timeout_s is 4000, above .* 3600/],
  ])("a manifest with %s", async (_, manifest, evidence) => {
    await using project = await createPackage({ "openenv.yaml": manifest });
    const { report, failed } = await validate(project, "static");
    expect(failed).toMatchObject([{ check_id: "static.manifest", remediation: expect.any(String) }]);
    expect(failed[0]?.evidence.join("\n")).toMatch(evidence);
    expect(report.verdict).toBe("fail");
  });

  test("a manifest that cannot be read keeps the server from being started", async () => {
    await using project = await createPackage({ "openenv.yaml": "name: counter_env\n" });
    const { report, of } = await validate(project);
    expect(of("runtime.startup")).toMatchObject({ status: "skip", evidence: ["the manifest is not valid"] });
    expect(report).toMatchObject({ manifest: null, levels_run: [1], verdict: "fail" });
  });

  test("a server that does not start is the reason why the checks of it were not made", async () => {
    const files = { "server/environment.ts": "throw new Error('no bubblewrap here');\n" };
    await using project = await createPackage(files);
    const { report, of, failed } = await validate(project, "semantic");
    expect(failed).toMatchObject([{ check_id: "runtime.startup" }]);
    const unmade = { status: "skip", evidence: ["the server did not start: see runtime.startup"] };
    for (const id of ["runtime.capacity", "runtime.seed_control", "semantic.replayability"]) {
      expect(of(id)).toMatchObject(unmade);
    }
    expect(of("semantic.no_solution_leakage")).toMatchObject({ evidence: [expect.stringMatching(/^needs /)] });
    expect(report.verdict).toBe("fail");
    const text = renderPackageReport(report);
    expect(text).toMatch(
      /\n {2}SKIP {2}runtime\.reward_well_formed, .*, semantic\.replayability: the server did not start: see/,
    );
    expect(text.match(/did not start/g)).toHaveLength(1);
  });

  test.each([
    ["that is missing", undefined, /is missing/],
    ["with a wrong field", { ...PLAN, actions: [] }, /actions: Too small/],
    ["with an unknown field", { ...PLAN, more: 1 }, /Unrecognized key/],
    [
      "with the seed twice",
      { ...PLAN, reset: { ...PLAN.reset, options: { seed: 1 } } },
      /reset.options: no episode_id/,
    ],
    ["that is too large", { ...PLAN, actions: [{ text: "x".repeat(70_000) }] }, /larger than 65536 bytes/],
  ])("a plan %s", async (_, plan, evidence) => {
    const files = { "openenv.yaml": `${MANIFEST}  execution: { probe_path: plan.json }\n` };
    await using project = await createPackage({ ...files, ...(plan && { "plan.json": JSON.stringify(plan) }) });
    expect((await validate(project)).failed).toMatchObject([
      { check_id: "runtime.startup", evidence: [expect.stringMatching(evidence)] },
    ]);
  });

  test("a symbolic link in the package", async () => {
    await using project = await createPackage();
    await symlink("openenv.yaml", join(project.dir, "link"));
    const { report, failed } = await validate(project, "static");
    expect(failed).toMatchObject([
      { status: "error", evidence: ["link is a symbolic link; a package has files only."] },
    ]);
    expect(report.verdict).toBe("fail");
  });
});
