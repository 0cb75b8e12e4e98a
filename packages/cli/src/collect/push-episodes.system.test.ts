import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  type Project,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { startHub } from "../../../../test-support/hub/hub-server.js";

vi.setConfig({ testTimeout: 90_000 });

describe("openenv collect --push-to-hub", () => {
  let project: Project;
  let server: ReturnType<typeof startCommand>;
  let url: string;
  beforeAll(async () => {
    project = await createProject({ "environment.ts": counterModule() });
    server = startCommand(["serve", "--port", "0"], { cwd: project.dir });
    [, url = ""] = await server.printed(/at (http:\S+)/);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await project?.[Symbol.asyncDispose]();
  });

  test("uploads the file to a data set of the Hub, next to other files, and keeps its README", async () => {
    await using hub = await startHub();
    await using folder = await createProject({});
    const push = (...more: string[]) => {
      const args = ["collect", url, "-n", "2", ...more];
      const env = { HF_ENDPOINT: hub.url, HF_TOKEN: hub.token, HF_HOME: join(folder.dir, "nobody") };
      return callCommand(args, { cwd: folder.dir, env });
    };
    const first = await push("--push-to-hub", "author/rollouts", "--private");
    expect([first.code, first.stderr]).toEqual([0, ""]);
    expect(first.stdout).toContain(`${hub.url}/datasets/author/rollouts`);
    expect(hub.dataset("author/rollouts")?.private).toBe(true);
    const files = await hub.dataset("author/rollouts")?.files();
    expect(files?.["episodes.jsonl"]).toBe(readFileSync(join(folder.dir, "episodes.jsonl"), "utf8"));
    expect(files?.["README.md"]).toMatch(/^---\nconfigs:.*path: "\*\.jsonl".*load_dataset\("author\/rollouts"/s);

    const second = await push("-H", "rollouts", "-o", "more.jsonl", "--commit-message", "More", "--json");
    expect(JSON.parse(second.stdout)).toMatchObject({ episodes: 2, hub: `${hub.url}/datasets/author/rollouts` });
    const both = await hub.dataset("author/rollouts")?.files();
    expect(Object.keys(both ?? {})).toEqual(expect.arrayContaining(["README.md", "episodes.jsonl", "more.jsonl"]));
    expect(both?.["README.md"]).toBe(files?.["README.md"]);
    expect(`${first.stdout}${second.stdout}${second.stderr}`).not.toContain(hub.token);
  });

  test("reports before the first episode that it cannot upload", async () => {
    await using hub = await startHub();
    await using folder = await createProject({});
    const push = (token: string, ...args: string[]) =>
      callCommand(["collect", url, ...args], {
        cwd: folder.dir,
        env: { HF_ENDPOINT: hub.url, HF_TOKEN: token, HF_HOME: join(folder.dir, "nobody") },
      });
    const cases: [string, string[], number, RegExp][] = [
      ["hf_wrong", ["-H", "author/x"], 1, /the token is not valid/],
      ["no", ["-H", "author/x"], 2, /is not a valid Hub token/],
      [hub.token, ["-H", "a/b/c"], 2, /"a\/b\/c" is not the ID of a data set/],
      [hub.token, ["--private"], 2, /--private requires --push-to-hub/],
    ];
    for (const [token, args, code, message] of cases) {
      expect(await push(token, ...args)).toMatchObject({ code, stderr: expect.stringMatching(message) });
    }
    expect(existsSync(join(folder.dir, "episodes.jsonl"))).toBe(false);
    const refused = await push(hub.readToken, "-n", "1", "-H", "author/x");
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/data set author\/x: .* write access to author/),
    });
    expect(readFileSync(join(folder.dir, "episodes.jsonl"), "utf8").trimEnd().split("\n")).toHaveLength(1);
  });
});
