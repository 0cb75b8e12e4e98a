import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  type Project,
  type Running,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { type EpisodeRecord, parseEpisode } from "../../../openenv/src/protocol/episode.js";
import { renderEpisode } from "../../../openenv/src/protocol/episode-line.js";

/** A server is started as a process. */
vi.setConfig({ testTimeout: 90_000 });

/** Bytes and dates, which are text on the wire, a time that is never the same, and a failure. */
const CAMERA = `
  import { bytes, datetime, defineContract, defineEnvironment, EnvironmentError } from "openenv-ts";
  import * as z from "zod";
  const contract = defineContract({
    name: "camera_env",
    action: z.object({ zoom: z.int() }),
    observation: z.object({ shot: bytes(), day: datetime(), taken_ms: z.number() }),
  });
  export default defineEnvironment(contract, () => {
    let shots = 0;
    const observe = () => ({
      observation: { shot: new Uint8Array([shots]), day: new Date(0), taken_ms: performance.now() },
      metadata: { shots },
    });
    return {
      reset: () => {
        shots = 0;
        return observe();
      },
      step: ({ zoom }) => {
        shots++;
        if (zoom < 0) throw new EnvironmentError("the lens is stuck");
        return { ...observe(), reward: zoom, done: shots >= 4 };
      },
    };
  });
`;

let project: Project;
let server: Running;
let url = "";
const replay = (...args: string[]) => callCommand(["replay", ...args], { cwd: project.dir });
const episodesOf = (file: string) =>
  readFileSync(join(project.dir, file), "utf8").trimEnd().split("\n").map(parseEpisode);
const write = (file: string, episodes: readonly object[], render: (episode: EpisodeRecord) => string = renderEpisode) =>
  project.write(file, episodes.map((episode) => `${render(episode as EpisodeRecord)}\n`).join(""));
/** A line of the first version of the format. */
const renderFirst = (episode: EpisodeRecord) => JSON.stringify({ ...episode, format: "openenv.episode/1" });

beforeAll(async () => {
  project = await createProject({
    "environment.ts": counterModule(),
    "double.ts": counterModule("2 * amount"),
    "strict.ts": counterModule().replace("z.int()", "z.int().max(0)"),
    "camera.ts": CAMERA,
    "policy.mjs": "export default ({ step }) => ({ amount: step + 1 });",
  });
  server = startCommand(["serve", "--port", "0"], { cwd: project.dir });
  [, url = ""] = await server.printed(/at (http:\S+)/);
  const collected = await callCommand(
    ["collect", url, "-n", "3", "--policy", "policy.mjs", "--parallel", "1", "-o", "episodes.jsonl"],
    { cwd: project.dir },
  );
  expect(collected.code).toBe(0);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await project?.[Symbol.asyncDispose]();
});

describe("openenv replay", () => {
  test("finds that an environment and a server still give the recorded answers", async () => {
    const equal = { code: 0, stdout: "3 episodes, 15 events: all equal\n", stderr: "" };
    expect(await replay("episodes.jsonl")).toEqual(equal);
    expect(await replay("episodes.jsonl", "--against", url)).toEqual(equal);
  });

  test("reports the first difference of each episode by event and field", async () => {
    expect(await replay("episodes.jsonl", "double.ts")).toEqual({
      code: 1,
      stdout:
        "episodes.jsonl:1: episode 0, event 2 (step): observation.count was 1, now 2\n" +
        "episodes.jsonl:2: episode 1, event 2 (step): observation.count was 1, now 2\n" +
        "episodes.jsonl:3: episode 2, event 2 (step): observation.count was 1, now 2\n" +
        "3 episodes, 6 events: 3 differ\n",
      stderr: "",
    });
    const { code, stdout } = await replay("episodes.jsonl", "double.ts", "--ignore", "observation.count", "--json");
    expect(code).toBe(1);
    const first = { line: 1, episode: 0 };
    expect(JSON.parse(stdout)).toEqual({
      episodes: 3,
      events: 12,
      different: 3,
      skipped: 0,
      differences: [1, 2, 3].map((line) => ({
        ...first,
        line,
        episode: line - 1,
        difference: { event: 4, kind: "step", field: "done", recorded: false, replayed: true },
      })),
      skips: [],
    });
  });

  test("reports an action that is no longer valid as an error with its reason", async () => {
    const { code, stdout } = await replay("episodes.jsonl", "strict.ts");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^episodes\.jsonl:1: episode 0, event 2 \(step\): error was null, now VALIDATION_ERROR: .*/);
  });

  test("repeats the recorded failures of an environment, and skips resets that failed", async () => {
    const answer = { observation: { shot: "AA==", day: "1970-01-01T00:00:00.000Z", taken_ms: 1 }, done: false, ms: 1 };
    const failure = { kind: "step", after: 0, action: { zoom: -1 }, code: "EXECUTION_ERROR", message: "old", ms: 1 };
    const episode = {
      ...(episodesOf("episodes.jsonl")[0] as EpisodeRecord),
      environment: "camera_env",
      reset: { seed: 1, episode_id: "taken" },
      start: { ...answer, reward: null, metadata: { shots: 0 } },
      steps: [
        {
          ...answer,
          action: { zoom: 3 },
          observation: { ...answer.observation, shot: "Ag==", metadata: { shots: 2 } },
          reward: 3,
          metadata: { shots: 2, openenv: { session: "a" } },
        },
      ],
      failures: [failure, { ...failure, code: "VALIDATION_ERROR", action: { zoom: "no" } }],
    };
    const unbegun = { ...episode, steps: [], failures: [{ ...failure, kind: "reset", action: {} }] };
    for (const render of [renderEpisode, renderFirst]) {
      await write("camera.jsonl", [episode, unbegun], render);
      expect(await replay("camera.jsonl", "camera.ts", "--ignore", "observation.taken_ms")).toEqual({
        code: 0,
        stdout: "camera.jsonl:2: episode 0 is skipped: its reset failed\n1 episodes, 3 events: all equal; 1 skipped\n",
        stderr: "",
      });
    }
    await write("camera.jsonl", [{ ...episode, failures: [] }]);
    const { code, stdout } = await replay("camera.jsonl", "camera.ts", "--ignore", "observation.taken_ms");
    expect(stdout).toMatch(/event 2 \(step\): observation\.shot was "Ag==", now "AQ=="/);
    expect(code).toBe(1);
  });

  test.each([
    ["missing.jsonl", [], /^error: No such file: missing\.jsonl\. Check the path\.$/],
    ["empty.jsonl", [], /^error: empty\.jsonl has no episodes; pass a file written by openenv collect\.$/],
    ["cut.jsonl", [], /^error: cut\.jsonl:2 is not a valid episode: it is not valid JSON\. Remove the line/],
    [".", [], /^error: Cannot read \.: /],
    [
      "episodes.jsonl",
      ["camera.ts"],
      /^error: episodes\.jsonl:1 is an episode of counter_env, not of camera_env: pass/,
    ],
    ["episodes.jsonl", ["nothing.ts"], /^error: No such file or folder: nothing\.ts/],
    [
      "episodes.jsonl",
      [".", "--against", "http://127.0.0.1:1"],
      /^error: Pass an environment or --against, not both\.$/,
    ],
    ["episodes.jsonl", ["--against", "http://127.0.0.1:1"], /^error: http:\/\/127\.0\.0\.1:1 could not be compared: /],
  ])("%s %j cannot be replayed: one line, exit code 2", async (file, args, message) => {
    const whole = readFileSync(join(project.dir, "episodes.jsonl"), "utf8");
    await project.write("empty.jsonl", "");
    await project.write("cut.jsonl", whole.slice(0, whole.indexOf("\n") + 50));
    const { code, stdout, stderr } = await replay(file, ...args);
    expect(stderr.trim()).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });
});
