import { parseEpisode } from "openenv-ts/protocol";
import { describe, expect, test } from "vitest";
import { diffValues } from "./diff.js";
import { parseJsonl, renderJsonl } from "./jsonl.js";
import { summarizeObservation } from "./summary.js";
import {
  addEvent,
  addReset,
  addStep,
  EMPTY_TIMELINE,
  goesOn,
  lastEpisodes,
  type NewStep,
  nameEpisode,
  needsReset,
  type Timeline,
  type TimelineStep,
  timelineOf,
} from "./timeline.js";

describe("a timeline", () => {
  test("numbers steps by episode and sums their rewards; no reward is not a reward of 0", () => {
    const { steps, episodes } = play([null, 0.5, null, -0.25]);
    expect(steps.map(({ number, total }) => [number, total])).toEqual([
      [0, null],
      [1, null],
      [2, 0.5],
      [3, 0.5],
      [4, 0.25],
    ]);
    expect(episodes).toMatchObject([{ steps: 4, total: 0.25, status: "in progress" }]);
  });

  test("can be cut before an episode, which keeps its number and its steps", () => {
    const second = addStep(addReset(play([1]), step("reset", null)), step("step", 5));
    const timeline = addEvent(second, "Connection lost", "");
    expect(lastEpisodes(timeline, 0)).toEqual(timeline);
    const rest = lastEpisodes(timeline, 1);
    expect(rest.episodes).toMatchObject([{ index: 0, number: 2, steps: 1, total: 5 }]);
    expect(rest.steps.map(({ index, episode, number }) => [index, episode, number])).toEqual([
      [0, 0, 0],
      [1, 0, 1],
    ]);
    expect(rest.rows).toMatchObject([{ episode: 0 }, { step: 0 }, { step: 1 }, { kind: "event" }]);
    expect(lastEpisodes(timeline, 2)).toMatchObject({ episodes: [], steps: [], rows: [] });
  });

  test("a reset stops the previous episode, a lost connection cuts it off, done stays done", () => {
    const stopped = addReset(play([1]), step("reset", null));
    const lost = addEvent(stopped, "Connection lost", "");
    expect(lost.episodes.map(({ status }) => status)).toEqual(["stopped", "cut off"]);
    const done = addEvent(addStep(play([1]), { ...step("step", 1), done: true }), "Connection lost", "");
    expect(done.episodes.map(({ status }) => status)).toEqual(["done"]);
    expect(done.rows.map(({ kind }) => kind)).toEqual(["episode", "step", "step", "step", "event"]);
  });

  test("a failed reset starts no episode", () => {
    const failed = { ...step("reset", null), observation: null, failure: FAILURE };
    const { episodes, steps } = addReset(play([1]), failed);
    expect(episodes).toHaveLength(1);
    expect(steps.at(-1)).toMatchObject({ episode: 0, kind: "reset", failure: FAILURE });
    const first = addReset(EMPTY_TIMELINE, failed);
    expect(first.episodes).toMatchObject([{ status: "stopped", steps: 0 }]);
    expect(goesOn(first)).toBe(false);
    expect(parseEpisode(renderJsonl(first, SOURCE).trimEnd())).toMatchObject({
      steps: [],
      failures: [{ kind: "reset", after: 0 }],
    });
  });

  test("invalid options do not affect the episode, an environment that failed in its reset has none", () => {
    const failed = (code: string) => ({ ...step("reset", null), observation: null, failure: { ...FAILURE, code } });
    const unfit = addReset(play([1]), failed("VALIDATION_ERROR"));
    expect([unfit.episodes[0]?.status, goesOn(unfit)]).toEqual(["in progress", true]);
    const broken = addReset(play([1]), failed("EXECUTION_ERROR"));
    expect([broken.episodes[0]?.status, needsReset(broken, { step_before_reset: false })]).toEqual(["stopped", true]);
    expect(needsReset(broken, { step_before_reset: true })).toBe(false);
  });

  test("a step after the end is not counted and not in the total", () => {
    const done = { ...step("step", 1), done: true };
    const { episodes, steps } = [done, done, step("step", 5)].reduce(addStep, play([0.5]));
    expect(episodes).toMatchObject([{ status: "done", steps: 2, total: 1.5 }]);
    expect(steps.map(({ number, total }) => [number, total])).toEqual([
      [0, null],
      [1, 0.5],
      [2, 1.5],
      [3, null],
      [4, null],
    ]);
  });

  test.each([false, true])(
    "steps of a new session do not belong to an episode of the previous one (done: %s)",
    (done) => {
      const lost = addEvent(addStep(play([1]), { ...step("step", 1), done }), "Connection lost", "");
      expect(goesOn(lost)).toBe(false);
      expect(nameEpisode(lost, "other").episodes).toEqual(lost.episodes);
      const { episodes, steps } = addStep(lost, step("step", 5));
      expect(episodes).toMatchObject([
        { steps: 2, total: 2 },
        { steps: 1, total: 5, reset: {} },
      ]);
      expect(steps.at(-1)).toMatchObject({ episode: 1, number: 1, total: 5 });
    },
  );

  test("from a file equals the one that was played", () => {
    const steps = [0.5, null, -1].map((reward) => step("step", reward));
    const played = addReset(play([0.5, null, -1]), step("reset", null));
    const last = { ...played.episodes[1], status: "stopped" };
    expect(
      timelineOf([
        { number: 1, reset: step("reset", null), steps },
        { number: 2, reset: step("reset", null), steps: [] },
      ]),
    ).toEqual({
      ...played,
      episodes: [played.episodes[0], last],
    });
  });

  test("does not count a failed step, like the server", () => {
    const failed = { ...step("step", null), observation: null, failure: FAILURE, counted: false };
    const { episodes, steps } = [failed, failed, step("step", 1)].reduce(addStep, play([1]));
    expect(episodes).toMatchObject([{ steps: 2, total: 2 }]);
    expect(steps.map(({ number }) => number)).toEqual([0, 1, 2, 2, 2]);
  });

  test("keeps a NaN reward of a step, and does not add it to the total", () => {
    const played = addStep(play([1]), { ...step("step", Number.NaN), metadata: { openenv: { reward: "NaN" } } });
    expect(played.episodes).toMatchObject([{ steps: 2, total: 1 }]);
    const text = renderJsonl(played, SOURCE);
    expect(parseEpisode(text.trimEnd())).toMatchObject({ total_reward: 1, steps: [{ reward: 1 }, { reward: null }] });
    expect(parseJsonl(text).timeline.steps.at(-1)?.reward).toBeNaN();
  });

  test("survives export and import, including failed steps", () => {
    const failed = { ...step("step", null), observation: null, failure: FAILURE, counted: false };
    const played = addStep([failed, step("step", null)].reduce(addStep, play([1])), failed);
    const text = renderJsonl(played, SOURCE);
    const { timeline: read, environments } = parseJsonl(text);
    expect(environments).toEqual(["echo_env"]);
    const facts = ({ steps }: Timeline) =>
      steps.map(({ action, number, reward, total, failure }) => [action, number, reward, total, failure]);
    expect(facts(read)).toEqual(facts(played));
    expect(read.episodes).toMatchObject([{ status: "stopped", steps: 2, total: 1 }]);
  });

  test("uses the episode numbers of a file, whatever their order", () => {
    const [line = ""] = renderJsonl(play([1]), SOURCE).split("\n");
    expect(JSON.parse(line)).toMatchObject({ episode: 1 });
    const { timeline } = parseJsonl(
      [7, 0].map((number) => line.replace('"episode":1', `"episode":${number}`)).join("\n"),
    );
    expect(timeline.episodes.map(({ number }) => number)).toEqual([7, 0]);
  });

  test("an invalid file is rejected with its line", () => {
    expect(() => parseJsonl("\n{}\n")).toThrow("Line 2 is not a valid episode");
    expect(() => parseJsonl("")).toThrow("The file contains no episode");
    const [line = ""] = renderJsonl(play([1]), SOURCE).split("\n");
    const deep = line.replace(
      String.raw`"reset":"{\"seed\":1}"`,
      `"reset":{"seed":${"[".repeat(5000)}${"]".repeat(5000)}}`,
    );
    expect(() => parseJsonl(deep)).toThrow("Line 1 is not a valid episode: it is nested deeper than 1000 levels.");
  });

  test("a file may have as many steps as can be scrolled, and no more", () => {
    const record = JSON.parse(renderJsonl(play([1]), SOURCE));
    const [step] = JSON.parse(record.steps);
    record.steps = JSON.stringify(Array.from({ length: 20_000 }, () => step));
    const line = `${JSON.stringify(record)}\n`;
    expect(parseJsonl(line).timeline.steps).toHaveLength(20_001);
    expect(() => parseJsonl(line.repeat(10))).toThrow("The file has more than 200,000 steps");
  });
});

test("a result is summarized by its text, also when the text repeats", () => {
  const higher = { ...play([1]).steps[1], observation: { low: 76, hint: "higher", high: 100 } } as TimelineStep;
  expect(summarizeObservation(higher, undefined)).toBe("higher");
  expect(summarizeObservation(higher, { ...higher, observation: { ...higher.observation, low: 50 } })).toBe("higher");
  const look = (observation: TimelineStep["observation"]) =>
    summarizeObservation({ ...higher, observation }, undefined);
  const picture = "data:image/png;base64,iVBORw0KGgo=";
  expect(look({ picture, text: "a cat" })).toBe("a cat");
  expect([look({ picture }), look({ seen: { picture } })].join()).not.toContain("base64");
  const grown = { ...higher, observation: { log: "one\ntwo" } };
  expect(summarizeObservation(grown, { ...higher, observation: { log: "one\n" } })).toBe("two");
});

describe("a diff", () => {
  test("handles fields that every JavaScript object inherits", () => {
    expect(diffValues({}, { constructor: 1 }).changes).toEqual([{ path: "constructor", before: undefined, after: 1 }]);
  });

  test("lists the paths that differ, also those that only one side has", () => {
    const before = { a: { b: [1, 2] }, gone: true };
    const after = { a: { b: [1, 3, 4] }, fresh: null };
    expect(diffValues(before, after).changes).toEqual([
      { path: "a.b[1]", before: 2, after: 3 },
      { path: "a.b[2]", before: undefined, after: 4 },
      { path: "fresh", before: undefined, after: null },
      { path: "gone", before: true, after: undefined },
    ]);
  });
});

const FAILURE = { code: "EXECUTION_ERROR", message: "no", issues: [] };
const SOURCE = { environment: "echo_env", url: "http://localhost:8000" };

function play(rewards: readonly (number | null)[]): Timeline {
  const start = addReset(EMPTY_TIMELINE, step("reset", null));
  return rewards.reduce<Timeline>((timeline, reward) => addStep(timeline, step("step", reward)), start);
}

function step(kind: NewStep["kind"], reward: number | null): NewStep {
  return {
    kind,
    action: kind === "reset" ? { seed: 1 } : { message: "x" },
    observation: { text: "y" },
    reward,
    done: false,
    metadata: undefined,
    view: undefined,
    failure: undefined,
    counted: true,
    ms: 1,
    at: 0,
    exchange: undefined,
  };
}
