import { execFile } from "node:child_process";
import { totalmem } from "node:os";
import { promisify } from "node:util";
import { EnvironmentError } from "openenv-ts";
import { connect } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { checkEnvironment, checkServer, renderCheckReport } from "openenv-ts/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { requireBubblewrap, requirePython } from "../../test-support/requirement.js";
import { codeMetadata, coding } from "./models.js";
import { readConfig } from "./server/config.js";
import { type Coding, prepareCoding, sandboxMarks } from "./test-support/sessions.js";

const [bubblewrap, python] = [await requireBubblewrap(), await requirePython()];
const TIME_LIMIT = { timeout: 300_000 };

describe.skipIf(!bubblewrap.available)("the coding environment", TIME_LIMIT, () => {
  let environment: Coding;
  beforeAll(async () => {
    environment = (await prepareCoding()).environment;
  });

  test("answers with the fields of the reference, and with all else in the metadata", async () => {
    await using env = await connect(environment);
    const start = await env.reset();
    expect(start.observation).toEqual({ stdout: "", stderr: "", exit_code: 0 });
    expect([start.reward, start.done]).toEqual([0, false]);
    const { observation, reward, done, metadata } = await env.step({ code: "print('hi')\nexit(2)" });
    expect(observation).toEqual({ stdout: "hi\n", stderr: "", exit_code: 2 });
    expect([reward, done]).toEqual([0, false]);
    expect(codeMetadata.parse(metadata)).toEqual({
      language: "python",
      outcome: "error",
      state_lost: false,
      truncated: false,
    });
    expect(await env.state()).toMatchObject({ step_count: 1, last_exit_code: 2 });
    await env.reset();
    expect(await env.state()).toMatchObject({ step_count: 0, last_exit_code: 0 });
  });

  test("shows people what a terminal would show", async () => {
    const session = await environment.create();
    const failed = { stdout: "<b>1</b>\n", stderr: "oh\n", exit_code: 2 };
    expect(await session.render?.(failed)).toEqual([
      {
        kind: "text",
        runs: [
          { text: "<b>1</b>\n", mono: true },
          { text: "oh\n", tone: "caution", mono: true },
          { text: "Ended with code 2.", tone: "negative" },
        ],
      },
    ]);
    expect(await session.render?.({ stdout: "", stderr: "", exit_code: 0 })).toEqual([{ kind: "text", runs: [] }]);
  });

  test("rejects an unknown language, and the session continues", async () => {
    await using env = await connect(environment);
    await env.reset();
    const wrong = { code: "puts 1", language: "ruby" as "python" };
    await expect(env.step(wrong)).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
    expect((await env.step({ code: "print(1)" })).observation.stdout).toBe("1\n");
  });

  test("keeps the promises of every environment", async () => {
    const report = await checkEnvironment(environment);
    expect(report.passed, renderCheckReport(report)).toBe(true);
    const cannot = report.checks.filter(({ id }) => id === "restores" || id === "replays");
    expect(cannot).toMatchObject([{ notApplicable: true }, { notApplicable: true }]);
  });

  test("serves many sessions at once, each with its own variables, and leaves no process", async () => {
    const known = new Set(sandboxMarks());
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    const report = await checkServer(server.url);
    expect(report.passed, renderCheckReport(report)).toBe(true);
    const answers = await Promise.all(
      Array.from({ length: 24 }, async (_, index) => {
        await using env = await connect(server.url, coding);
        await env.reset();
        const language = index % 3 === 0 ? "javascript" : "python";
        const show = language === "python" ? "print(mine)" : "console.log(mine)";
        await env.step({ code: `${language === "python" ? "" : "var "}mine = ${index}`, language });
        return (await env.step({ code: show, language })).observation.stdout;
      }),
    );
    expect(answers).toEqual(Array.from({ length: 24 }, (_, index) => `${index}\n`));
    await server.close();
    expect(sandboxMarks().filter((mark) => !known.has(mark))).toEqual([]);
  });

  test.skipIf(!python.available)("a typed client of the Python package plays it", async () => {
    await using server = await serve(environment, { port: 0, logLevel: "silent" });
    const { stdout } = await promisify(execFile)(python.path, ["-c", CLIENT, server.url], { timeout: 200_000 });
    expect(stdout.trim()).toBe("42 0 1.0 ok | 1 True");
  });

  test("an interpreter that does not start is a failure that says so, never a reward of zero", async () => {
    const { sandbox } = await prepareCoding();
    const broken = {
      ...sandbox,
      start: () => Promise.reject(new EnvironmentError("it did not start; mask this step")),
    };
    const { defineCoding } = await import("./server/coding-environment.js");
    await using env = await connect(defineCoding(broken, 1));
    await env.reset();
    await expect(env.step({ code: "print(1)" })).rejects.toMatchObject({ message: expect.stringContaining("mask") });
  });
});

describe("the variables of the coding environment", () => {
  test("have the defaults of its README", () => {
    expect(readConfig({})).toEqual({
      limits: { timeoutSeconds: 30, maxOutputLength: 10_000, memoryBytes: 512 * 1024 * 1024, processes: 64 },
      total: { memoryBytes: expect.any(Number), processes: 8192 },
      python: "python3",
      bubblewrap: "bwrap",
      allowWeak: false,
      requireCgroups: false,
    });
    const share = readConfig({}).total.memoryBytes / totalmem();
    expect(share).toBeGreaterThan(0);
    expect(share).toBeLessThanOrEqual(0.75);
  });

  test.each([
    ["SANDBOX_TIMEOUT", "soon"],
    ["SANDBOX_TIMEOUT", "0"],
    ["MAX_OUTPUT_LENGTH", "-1"],
    ["MAX_OUTPUT_LENGTH", "1.5"],
    ["SANDBOX_MEMORY_MB", "1"],
    ["SANDBOX_PROCESSES", "many"],
    ["SANDBOX_TOTAL_MEMORY_MB", "1"],
    ["SANDBOX_TOTAL_PROCESSES", "0"],
    ["OPENENV_SANDBOX_REQUIRE", "cgroup"],
  ])("%s=%s is an error that names it", (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(name);
  });
});

const CLIENT = `
import sys
from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.types import Action, Observation, State

class CodeAction(Action):
    code: str

class CodeObservation(Observation):
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0

class CodingEnv(EnvClient):
    def _step_payload(self, action):
        return {"code": action.code}
    def _parse_result(self, payload):
        seen = CodeObservation(**payload["observation"])
        return StepResult(observation=seen, reward=payload.get("reward"), done=bool(payload.get("done")))
    def _parse_state(self, payload):
        return payload

with CodingEnv(base_url=sys.argv[1]).sync() as env:
    env.reset()
    first = env.step(CodeAction(code="print(6 * 7)"))
    seen = first.observation
    second = env.step(CodeAction(code="1 / 0")).observation
    print(seen.stdout.strip(), seen.exit_code, float(first.reward), seen.metadata["outcome"], "|", second.exit_code, "ZeroDivisionError" in second.stderr)
`;
