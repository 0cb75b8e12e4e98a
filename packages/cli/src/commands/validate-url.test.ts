import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { callCommand, createProject } from "../../../../test-support/commands/command-line.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import type { RunningReport } from "../validate/report/running-report.js";
import { parseCheckId } from "../validate/runtime-results.js";

const LIMIT = { timeout: 240_000 };
const HERE = import.meta.dirname;
const servers = useServers();

describe("openenv validate --url", () => {
  const validateUrl = async (...args: string[]) => {
    const { code, stdout, stderr } = await callCommand(["validate", "--json", ...args], { cwd: HERE });
    return { code, stderr, report: JSON.parse(stdout) as RunningReport };
  };

  test("has a report of the known shape", LIMIT, async () => {
    const server = await servers.start({ maxConcurrentEnvs: 6 });
    const { code, report, stderr } = await validateUrl("--url", server.url);
    expect(code).toBe(0);
    expect(stderr).toMatch(/opens sessions until the server rejects one, up to 128 at once.* add --skip capacity/);
    const seed = report.criteria.find(({ id }) => id === "seed_honoured");
    const unshown = { details: expect.stringMatching(/do not show what/) };
    expect(seed).toMatchObject({ passed: false, skipped: true, required: false, ...unshown });
    expect(report).toMatchObject({
      target: server.url,
      validation_type: "running_environment",
      standard_version: "1.0.0",
      standard_profile: "openenv-http/1.x",
      mode: "simulation",
      passed: true,
      summary: {
        // The sampled actions show nothing of the seed: seed_honoured is skipped, so it neither passed nor failed.
        passed_count: 17,
        total_count: 18,
        failed_criteria: [],
        required_passed_count: 17,
        required_total_count: 17,
      },
    });
    expect(report.criteria[1]).toEqual({
      id: "health_endpoint",
      description: "GET /health returns healthy",
      passed: true,
      required: true,
      expected: { status_code: 200, status: "healthy" },
      actual: { status_code: 200, status: "healthy" },
    });
    await expect.poll(() => server.capacity().active_sessions, { timeout: 10_000 }).toBe(0);
    for (const { id } of report.criteria) expect(parseCheckId(id)).toBe(id);
    expect(parseCheckId("runtime.seed_control")).toBe("seed_honoured");
  });

  test("takes the URL as the target too, leaves out checks, and plays the given actions", LIMIT, async () => {
    await using project = await createProject({ "actions.json": '[{"amount":13}]' });
    const server = await servers.start();
    const file = join(project.dir, "actions.json");
    const { code, report } = await validateUrl(server.url, "--actions", file, "--skip", "capacity", "--sessions", "5");
    expect(code).toBe(1);
    expect(report.summary.failed_criteria).toEqual(["episode"]);
    const { passed, required, details, remediation } = report.criteria.find(({ id }) => id === "episode") ?? {};
    expect({ passed, required }).toEqual({ passed: false, required: true });
    expect(details).toMatch(/EXECUTION_ERROR/);
    expect(remediation).toMatch(/The environment threw an exception/);
    const capacity = report.criteria.find(({ id }) => id === "capacity");
    expect(capacity).toMatchObject({ passed: false, skipped: true, required: false });
  });

  test("blames actions that are not valid on their author, not on the server", LIMIT, async () => {
    await using project = await createProject({ "actions.json": '[{"amout":1}]' });
    const server = await servers.start();
    const { code, report } = await validateUrl(server.url, "--actions", join(project.dir, "actions.json"));
    expect(code).toBe(1);
    expect(report.summary.failed_criteria).toEqual(["episode"]);
    const { details, remediation } = report.criteria.find(({ id }) => id === "episode") ?? {};
    expect(details).toMatch(/VALIDATION_ERROR: .*am.*, for the action \{"amout":1\}$/);
    expect(remediation).toMatch(/^The action does not match .* correct the given actions \(--actions/);
  });

  test("says of a server with /health and nothing else what is missing, in words", LIMIT, async () => {
    const bare = createServer((request, response) => {
      response.writeHead(request.url === "/health" ? 200 : 404).end('{"status":"healthy"}');
    });
    await new Promise<void>((resolve) => bare.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${(bare.address() as AddressInfo).port}`;
      const { code, stdout } = await callCommand(["validate", url], { cwd: HERE });
      expect(stdout).toMatch(/ {2}PASS {2}health_endpoint\n/);
      expect(stdout).toMatch(/ {2}FAIL {2}episode\n {8}could not open the WebSocket \/ws.*\n {8}to fix: Serve the/);
      expect(stdout).toMatch(/ {2}SKIP {2}isolated: episode did not pass\n[\s\S]*Verdict: FAIL\n$/);
      expect(code).toBe(1);
    } finally {
      bare.close();
    }
  });
});
