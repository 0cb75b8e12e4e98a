import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { defineCounter } from "../../test-support/counter.js";
import { serve } from "../server/serve.js";
import { checkServer } from "./check-server.js";
import { renderCheckReport } from "./report.js";

describe("checkServer", () => {
  test.each(["simulation", "production"] as const)("passes a server in %s", async (mode) => {
    await using server = await serve(defineCounter().environment, { port: 0, logLevel: "silent", mode });
    const report = await checkServer(`${server.url}/`);
    expect(report.passed, renderCheckReport(report)).toBe(true);
    expect(server.capacity().active_sessions).toBe(0);
  });

  test("says of a server that has /health and nothing else what is missing", async () => {
    const bare = createServer((request, response) => {
      response.writeHead(request.url === "/health" ? 200 : 404, { "content-type": "application/json" });
      response.end(request.url === "/health" ? '{"status":"healthy"}' : '{"detail":"Not Found"}');
    });
    await new Promise<void>((resolve) => bare.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = bare.address() as AddressInfo;
      const report = await checkServer(`http://127.0.0.1:${port}`);
      const failed = report.checks.filter(({ status }) => status === "failed").map(({ id }) => id);
      expect(failed).toEqual(["metadata", "schema", "openapi", "mcp", "episode", "bad_input", "isolated"]);
    } finally {
      bare.close();
    }
  });
});
