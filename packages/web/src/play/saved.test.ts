import { expect, test, vi } from "vitest";
import { type NewStep, timelineOf } from "./timeline.js";

vi.stubGlobal("location", { href: "http://127.0.0.1/web/" });
const { render } = await import("./saved.js");

/** An answer with a text of this length. */
function answer(kind: "reset" | "step", length: number): NewStep {
  return {
    kind,
    action: {},
    observation: { text: "x".repeat(length) },
    reward: null,
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

/** Episodes of a reset and a step, each with texts of this length. */
function played(...lengths: number[]) {
  return timelineOf(
    lengths.map((length, at) => ({
      number: at + 1,
      reset: answer("reset", length),
      steps: [answer("step", length)],
    })),
  );
}

const kept = { session_id: "s", token: "t", ack: 0, attempt: 0 };

test.each([
  ["all episodes that fit", played(10, 10, 10), [1, 2, 3]],
  ["the newest episodes that fit", played(1_500_000, 700_000, 700_000), [2, 3]],
  ["no episode before one that is too large", played(10, 2_100_000, 10), [3]],
  ["no part of an episode", played(10, 2_100_000), []],
])("keeps %s", (_, timeline, numbers) => {
  const text = render({ kept, timeline, origin: { episode: "1", step: 1, index: 0 } });
  const saved = JSON.parse(text);
  expect(text.length).toBeLessThan(4_000_000);
  expect(saved.timeline.episodes.map(({ number }: { number: number }) => number)).toEqual(numbers);
  expect(saved.timeline.steps).toHaveLength(2 * numbers.length);
  expect(saved.dropped).toBe(timeline.steps.length - 2 * numbers.length);
  expect(saved.origin.index).toBe(numbers.length - timeline.episodes.length);
});

test("keeps the newest of thousands of episodes", () => {
  const timeline = played(...Array.from({ length: 4_000 }, () => 2_000));
  expect(JSON.parse(render({ kept, timeline })).timeline.episodes.length).toBeGreaterThan(800);
});
