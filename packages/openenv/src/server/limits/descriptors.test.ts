import { expect, test } from "vitest";
import { Statistics } from "../../session/statistics/statistics.js";
import { type Log, silentLog } from "../../util/log.js";
import { Descriptors } from "./descriptors.js";

/** A log that keeps its lines, and statistics. */
function keep(): { runtime: { log: Log; statistics: Statistics }; lines: unknown[][] } {
  const lines: unknown[][] = [];
  const say =
    (level: string) =>
    (fields: object, message: string): void => {
      lines.push([level, fields, message]);
    };
  const log = { ...silentLog, warn: say("warn"), error: say("error") };
  return { runtime: { log, statistics: new Statistics() }, lines };
}

test("warns when there are too few descriptors, and only then", () => {
  const { runtime, lines } = keep();
  const config = { maxConcurrentEnvs: 1_000, queueSize: 24 };
  new Descriptors(runtime, 2_000).warn(config);
  expect(lines).toEqual([]);
  new Descriptors(runtime, 1_000).warn(config);
  expect(lines).toEqual([
    ["warn", { limit: 1_000, needed: 1_076, sessions: 1_000, waiting: 24 }, expect.stringMatching(/ulimit -n/)],
  ]);
});

test("counts a thousand rejections and logs them in two lines; the first has the error, if there is one", () => {
  const { runtime, lines } = keep();
  const descriptors = new Descriptors(runtime, 64);
  const error = new Error("accept EMFILE");
  for (let i = 0; i < 1_000; i++) descriptors.countRejection(error);
  descriptors.close();
  expect(lines).toEqual([
    ["error", { limit: 64, refused: 1, err: error }, expect.stringMatching(/MAX_CONCURRENT_ENVS/)],
    ["error", { limit: 64, refused: 999 }, expect.stringMatching(/MAX_CONCURRENT_ENVS/)],
  ]);
  expect(runtime.statistics.counts.openenv_rejections_total).toMatchObject({ descriptors: 1_000 });
});

test("reserves the last descriptors for requests", () => {
  const descriptors = new Descriptors(keep().runtime, 64);
  expect([-1, 39, 40, 63].map((used) => descriptors.areShort(used))).toEqual([false, false, true, true]);
  expect([-1, 55, 56].map((used) => descriptors.areAlmostUsedUp(used))).toEqual([false, false, true]);
  descriptors.close();
});
