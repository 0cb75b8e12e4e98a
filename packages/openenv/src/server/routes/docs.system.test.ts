import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { counterModule, createProject, startCommand } from "../../../../../test-support/commands/command-line.js";
import { requireChromium } from "../../../../../test-support/requirement.js";

const chromium = await requireChromium();

describe.skipIf(!chromium.available)("the pages that describe the API, in a browser without a network", () => {
  test.each(["/docs", "/redoc"])(
    "%s shows every route",
    async (path) => {
      await using project = await createProject({ "environment.ts": counterModule() });
      await using server = startCommand(["serve", "--port", "0"], { cwd: project.dir });
      const [, url = ""] = await server.printed(/at (http:\S+)/);
      const { stdout } = await promisify(execFile)(
        chromium.path,
        [
          "--headless=new",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-dev-shm-usage",
          "--disable-background-networking",
          "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
          `--user-data-dir=${project.dir}/profile`,
          "--virtual-time-budget=8000",
          "--dump-dom",
          url + path,
        ],
        { maxBuffer: 16 * 1024 * 1024 },
      );
      expect(stdout).toContain('href="openapi.json"');
      for (const route of ["/reset", "/step", "/state", "/health", "/{env_name}/splits"]) {
        expect(stdout).toContain(`data-path="${route}"`);
      }
    },
    60_000,
  );
});
