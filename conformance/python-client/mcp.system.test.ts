import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { useMcp } from "../../test-support/environments/mcp.js";
import { requirePython } from "../../test-support/requirement.js";

const python = await requirePython();
const { start } = useMcp();

describe.skipIf(!python.available)("the official Python client of MCP", () => {
  let got: Record<string, Record<string, unknown>>;
  let left: { active: number; closed: number };

  beforeAll(async () => {
    const { server, log, active } = await start({ maxConcurrentEnvs: 1 });
    const script = join(import.meta.dirname, "mcp_client.py");
    const { stdout } = await promisify(execFile)(python.path, [script, `${server.url}/mcp`]);
    got = JSON.parse(stdout) as typeof got;
    // The environment is closed after its session ends.
    await vi.waitFor(() => expect(log.closed).toBe(3), { timeout: 10_000 });
    left = { active: active(), closed: log.closed };
  }, 120_000);

  test("opens a session, lists the tools and calls them", () => {
    expect(got["played"]).toMatchObject({
      server: "desk_env",
      revision: "2025-11-25",
      has_session: true,
      tools: { add: { type: "object", required: ["a"] }, hang: { type: "object" } },
      added: [false, { result: 3 }, "3"],
      greeted: { greeting: "Hello, Bo!" },
      tallies: [{ result: 1 }, { result: 2 }],
    });
  });

  test("gets failures as results, and an unknown tool as an error", () => {
    expect(got["played"]).toMatchObject({
      failed: [true, expect.stringContaining("no luck")],
      wrong: true,
      unknown: -32602,
    });
  });

  test("reads the plain values with fastmcp", () => {
    expect(got["fast"]).toEqual([5, 1]);
  });

  test("is rejected at capacity with the counts, and leaves no session open", () => {
    const data = { code: "CAPACITY_REACHED", fault: "infrastructure", active_sessions: 1, max_sessions: 1 };
    expect(got["full"]).toEqual({ code: -32000, data });
    expect(left).toEqual({ active: 0, closed: 3 });
  });
});
