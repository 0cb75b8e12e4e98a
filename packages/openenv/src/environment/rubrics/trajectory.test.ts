import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Fixed, late } from "../../../../../test-support/environments/rubrics.js";
import { ExponentialDiscounting } from "./discounting.js";
import { Gate } from "./gate.js";
import { Rubric } from "./rubric.js";
import { RubricDict } from "./rubric-dict.js";
import { Sequential } from "./sequential.js";
import { TrajectoryRubric, type TrajectoryStep } from "./trajectory.js";
import { WeightedSum } from "./weighted-sum.js";

interface Seen {
  n: number;
  done?: boolean;
}

/** Scores the share of steps with an even number. */
class Even extends TrajectoryRubric<string, Seen> {
  override scoreTrajectory(trajectory: readonly TrajectoryStep<string, Seen>[]) {
    return trajectory.filter(({ observation }) => observation.n % 2 === 0).length / trajectory.length;
  }
}

class Outcome extends ExponentialDiscounting<unknown, { done?: boolean }> {
  readonly #score: number | Promise<number>;

  constructor(gamma: number | undefined, score: number | Promise<number>) {
    super(gamma === undefined ? {} : { gamma });
    this.#score = score;
  }

  override scoreTrajectory() {
    return this.#score;
  }
}

describe("a trajectory", () => {
  test("is scored when it is done, and every earlier step has the intermediate reward", () => {
    const rubric = new Even({ intermediateReward: 0.1 });
    expect(rubric.score("a", { n: 1 })).toBe(0.1);
    expect(rubric.score("b", { n: 2, done: false })).toBe(0.1);
    expect(rubric.score("c", { n: 4, done: true })).toBeCloseTo(2 / 3);
    expect(rubric.computeStepRewards()).toEqual([0.1, 0.1, 2 / 3]);
    rubric.reset();
    expect([rubric.trajectory, rubric.computeStepRewards()]).toEqual([[], []]);
  });

  test("keeps copies that later changes by the environment do not affect", () => {
    const rubric = new Even();
    const observation = { n: 2, board: [0, 0] };
    rubric.score("a", observation);
    observation.n = 3;
    observation.board[0] = 9;
    expect(rubric.trajectory).toEqual([{ action: "a", observation: { n: 2, board: [0, 0] } }]);
  });

  test.each([
    ["a sequence", (rubric: Rubric) => new Sequential(new Gate(new Fixed(0)), rubric)],
    ["an async sequence", (rubric: Rubric) => new Sequential(new Gate(late(0)), rubric)],
    ["a sum in a sequence", (rubric: Rubric) => new Sequential(new Fixed(0), new WeightedSum([rubric], [1]))],
    ["a dictionary", (rubric: Rubric) => new Picky(rubric)],
    [
      "a rubric that failed",
      (rubric: Rubric) =>
        new Sequential(
          new Fixed(() => {
            throw new Error("unlucky");
          }),
          rubric,
        ),
    ],
  ])("records steps in which %s does not run it", async (_, behind) => {
    const rubric = new Even();
    const root = behind(rubric);
    for (const n of [1, 2, 3]) await (async () => root.score("a", { n }))().catch(() => 0);
    expect(rubric.trajectory.map(({ observation }) => observation.n)).toEqual([1, 2, 3]);
  });

  test("after a gate that opens at the end is scored over all steps, each once", () => {
    let open = 0;
    const rubric = new Even();
    const root = new Sequential(new Fixed(() => open), rubric);
    expect([root.score("a", { n: 2 }), root.score("b", { n: 3 })]).toEqual([0, 0]);
    open = 1;
    expect(root.score("c", { n: 5 })).toBe(0);
    expect(root.score("d", { n: 6, done: true })).toBe(0.5);
    expect(rubric.trajectory).toHaveLength(4);
  });

  test("that is too long is an error", () => {
    const rubric = new Even({ maxSteps: 2 });
    rubric.score("a", { n: 1 });
    rubric.score("a", { n: 2 });
    expect(() => rubric.score("a", { n: 3 })).toThrow("the rubric Even failed: the episode has more than 2 steps");
    expect(() => new Sequential(new Fixed(0), rubric).score("a", { n: 3 })).toThrow("the rubric rubric_1 failed");
    rubric.reset();
    expect(rubric.score("a", { n: 3 })).toBe(0);
  });

  test("continues from a saved state", () => {
    const rubric = new Sequential(new Fixed(1), new Even({ intermediateReward: 0.2 }));
    rubric.score("a", { n: 2 });
    const other = new Sequential(new Fixed(1), new Even());
    other.loadStateDict(JSON.parse(JSON.stringify(rubric.stateDict())));
    expect(other.score("b", { n: 3 })).toBe(0.2);
    expect(other.score("c", { n: 4, done: true })).toBeCloseTo(2 / 3);
  });

  test.each([{ intermediateReward: Number.NaN }, { maxSteps: 0 }])("rejects %j", (options) => {
    expect(() => new Even(options)).toThrow(RangeError);
  });
});

class Picky extends Rubric {
  readonly games: RubricDict;

  constructor(other: Rubric) {
    super();
    this.games = new RubricDict({ this: new Fixed(1), other });
  }

  override forward(action: unknown, observation: unknown) {
    return this.games.get("this").score(action, observation);
  }
}

describe("exponential discounting", () => {
  // Results of openenv 0.10.0 (PyPI): ExponentialDiscountingTrajectoryRubric(gamma).compute_step_rewards().
  test.each([
    [0.99, 1, [0.96059601, 0.970299, 0.9801, 0.99, 1]],
    [0.9, -0.5, [-0.36450000000000005, -0.405, -0.45, -0.5]],
    [0, 0.7, [0, 0, 0.7]],
    [1, 0.3, [0.3, 0.3, 0.3]],
    [0.5, 2, [0.0625, 0.125, 0.25, 0.5, 1, 2]],
    [
      0.97,
      0.123456789,
      [
        0.09975096758376369, 0.10283604905542648, 0.10601654541796546, 0.10929540764738709, 0.11267567798699699,
        0.11616049277009999, 0.11975308533, 0.123456789,
      ],
    ],
  ])("with gamma %s and score %s equals that of the Python package", async (gamma, score, expected) => {
    for (const given of [score, Promise.resolve(score)]) {
      const rubric = new Outcome(gamma, given);
      for (let i = 1; i < expected.length; i++) expect(await rubric.score({}, { done: false })).toBe(0);
      expect(await rubric.score({}, { done: true })).toBe(score);
      const rewards = await rubric.computeStepRewards();
      expect(rewards).toHaveLength(expected.length);
      for (const [t, reward] of rewards.entries()) expect(reward).toBeCloseTo(expected[t] as number, 14);
    }
  });

  test("gives each step gamma times the reward of the next, and the last step the whole score", () => {
    const unit = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        unit,
        fc.double({ min: -10, max: 10, noNaN: true }),
        fc.integer({ min: 1, max: 50 }),
        (gamma, score, length) => {
          const rubric = new Outcome(gamma, score);
          for (let i = 0; i < length; i++) rubric.score({}, { done: i === length - 1 });
          const rewards = rubric.computeStepRewards() as number[];
          expect(rewards).toHaveLength(length);
          expect(rewards.at(-1)).toBe(score);
          for (let t = 1; t < length; t++) {
            expect(Math.abs((rewards[t] as number) * gamma - (rewards[t - 1] as number))).toBeLessThan(1e-12);
          }
        },
      ),
    );
  });

  test("computes the score of an episode once", async () => {
    let asked = 0;
    class Dear extends ExponentialDiscounting {
      override scoreTrajectory() {
        asked++;
        return Promise.resolve(1);
      }
    }
    const rubric = new Dear();
    await rubric.score({}, { done: true });
    await rubric.computeStepRewards();
    expect(asked).toBe(1);
  });

  test.each([
    [Number.NaN, "the rubric Broken returned NaN"],
    [Promise.resolve(Number.NaN), "the rubric Broken returned NaN"],
    [new Error("unlucky"), "the rubric Broken failed"],
  ])("gives no rewards when the episode has no score: %s", async (given, message) => {
    class Broken extends ExponentialDiscounting {
      override scoreTrajectory() {
        if (given instanceof Error) throw given;
        return given;
      }
    }
    const rubric = new Broken();
    await expect((async () => rubric.score({}, { done: true }))()).rejects.toThrow(message);
    const rewards = (async () => rubric.computeStepRewards())();
    await expect(rewards).rejects.toMatchObject({ code: "RUBRIC_FAILED", message: expect.stringContaining(message) });
  });

  test("ignores a score that arrives after a reset", async () => {
    const scores: ((score: number) => void)[] = [];
    class Slow extends ExponentialDiscounting {
      override scoreTrajectory() {
        return new Promise<number>((resolve) => scores.push(resolve));
      }
    }
    const rubric = new Slow();
    const late = rubric.score({}, { done: true });
    rubric.reset();
    rubric.forward({}, { done: false }, {});
    scores[0]?.(5);
    expect(await late).toBe(5);
    const rewards = rubric.computeStepRewards();
    scores[1]?.(1);
    expect(await rewards).toEqual([1]);
  });

  test("saves gamma, and rejects one outside [0, 1]", () => {
    const rubric = new Outcome(0.5, 1);
    const other = new Outcome(undefined, 1);
    expect(other.gamma).toBe(0.99);
    other.loadStateDict(rubric.stateDict());
    expect(other.gamma).toBe(0.5);
    for (const gamma of [-0.1, 1.1, Number.NaN]) expect(() => new Outcome(gamma, 1)).toThrow("from 0 to 1");
  });
});
