import { expect, test } from "vitest";
import { Statistics } from "../../session/statistics/statistics.js";
import { type Log, silentLog } from "../../util/log.js";
import { Descriptors } from "./descriptors.js";

/** A log that keeps its lines, and what counts. */
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

test("says how many descriptors are missing, and nothing when they suffice", () => {
  const { runtime, lines } = keep();
  const config = { maxConcurrentEnvs: 1_000, queueSize: 24 };
  new Descriptors(runtime, 2_000).warn(config);
  expect(lines).toEqual([]);
  new Descriptors(runtime, 1_000).warn(config);
  expect(lines).toEqual([
    ["warn", { limit: 1_000, needed: 1_076, sessions: 1_000, waiting: 24 }, expect.stringMatching(/ulimit -n/)],
  ]);
});

test("counts a thousand refusals, and logs them in two lines, of which the first has the error where there is one", () => {
  const { runtime, lines } = keep();
  const descriptors = new Descriptors(runtime, 64);
  const error = new Error("accept EMFILE");
  for (let i = 0; i < 1_000; i++) descriptors.tell(error);
  descriptors.close();
  expect(lines).toEqual([
    ["error", { limit: 64, refused: 1, err: error }, expect.stringMatching(/MAX_CONCURRENT_ENVS/)],
    ["error", { limit: 64, refused: 999 }, expect.stringMatching(/MAX_CONCURRENT_ENVS/)],
  ]);
  expect(runtime.statistics.rejections).toEqual({ descriptors: 1_000 });
});

test("knows by the number of a socket how many are left; one without a number is always let in", () => {
  const descriptors = new Descriptors(keep().runtime, 64);
  const socket = (fd?: number) => (fd === undefined ? {} : { _handle: { fd } });
  expect([39, 40, 63, -1, undefined].map((fd) => descriptors.areShort(socket(fd)))).toEqual([
    false,
    true,
    true,
    false,
    false,
  ]);
  descriptors.close();
});
