import { execFile, execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect } from "openenv-ts/client";
import { checkEnvironment, renderCheckReport } from "openenv-ts/testing";
import { describe, expect, test } from "vitest";
import environment from "./server/environment.js";

const { PORT = "0" } = process.env;
const HOST_URL = PORT === "0" ? hostname() : `${hostname()}:${PORT}`;

describe("the benchmark environment", () => {
  test("returns where it ran and how long it waited", async () => {
    await using env = await connect(environment);
    const start = await env.reset();
    const { observation, reward, done, metadata } = await env.step({ wait_seconds: 0.01 });
    expect(observation).toMatchObject({ host_url: HOST_URL, pid: process.pid, waited_seconds: 0.01 });
    expect(observation.session_hash).toMatch(/^[0-9a-f]{16}$/);
    expect(observation.session_hash).toBe(start.observation.session_hash);
    expect(observation.timestamp).toBeGreaterThanOrEqual(start.observation.timestamp);
    expect([reward, done, metadata]).toEqual([1 / 1.01, false, { waited: 0.01 }]);
  });

  test("does not wait by default, and gives each session its own hash", async () => {
    await using one = await connect(environment);
    await using two = await connect(environment);
    const [a, b] = [await one.step({}), await two.step({})];
    expect([a.reward, a.observation.waited_seconds]).toEqual([1, 0]);
    expect(a.observation.session_hash).not.toBe(b.observation.session_hash);
  });

  test("never claims to have waited longer than it did", async () => {
    await using env = await connect(environment);
    await env.reset();
    // 35 days are more than one timer of the platform can hold.
    await expect(env.step({ wait_seconds: 3e6 }, { timeoutMs: 50 })).rejects.toMatchObject({ code: "CLIENT_TIMEOUT" });
  });

  test("keeps the promises of every environment", async () => {
    const report = await checkEnvironment(environment);
    expect(report.passed, renderCheckReport(report)).toBe(true);
  });

  test("has a README that lists all its files", () => {
    const folder = import.meta.dirname;
    const [, table = ""] = readFileSync(join(folder, "README.md"), "utf8").split("## Files");
    const named = [...table.matchAll(/`([\w./]+)`/g)].map(([, path = ""]) => path);
    expect(named.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
    const files = execFileSync("git", ["ls-files"], { cwd: folder, encoding: "utf8" }).trim().split("\n");
    const isListed = (file: string) =>
      named.some((path) => file === path || (path.endsWith("/") && file.startsWith(path)));
    expect(files.filter((file) => !isListed(file))).toEqual(["README.md"]);
  });

  test("checks itself when it is run", async () => {
    const script = fileURLToPath(new URL("dist/server/environment.js", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [script]);
    expect(stdout).toMatch(/^benchmark_env: ok, session [0-9a-f]{16}, pid \d+/);
  });
});
