import { describe, expect, test } from "vitest";
import { Fixed, late } from "../../../../../test-support/environments/rubrics.js";
import { EnvironmentError, RubricError } from "../../errors.js";
import { Rubric, type ScoreContext } from "./rubric.js";
import { RubricDict } from "./rubric-dict.js";
import { RubricList } from "./rubric-list.js";

class Half extends Rubric {
  readonly inner: Rubric;
  readonly note = "no rubric";

  constructor(inner: Rubric) {
    super();
    this.inner = inner;
  }

  override forward(action: unknown, observation: unknown, context: ScoreContext) {
    const score = this.inner.score(action, observation, context);
    return typeof score === "number" ? score / 2 : score.then((value) => value / 2);
  }
}

class Games extends Rubric<string, { game: string }> {
  readonly games = new RubricDict({ pong: new Half(new Fixed(0.5)), chess: new Fixed(1) });
  readonly checks = new RubricList([new Fixed(0.1), new Fixed(0.2)]);

  override forward(action: string, observation: { game: string }) {
    return this.games.get(observation.game).score(action, observation);
  }
}

describe("children", () => {
  test("are found by the name of their property, also in lists and dictionaries, parents first", () => {
    const games = new Games();
    expect(games.namedRubrics().map(([path]) => path)).toEqual([
      "games",
      "games.pong",
      "games.pong.inner",
      "games.chess",
      "checks",
      "checks.rubric_0",
      "checks.rubric_1",
    ]);
    expect(games.namedChildren().map(([name]) => name)).toEqual(["games", "checks"]);
    expect(games.getRubric("games.pong.inner")).toBeInstanceOf(Fixed);
    expect(() => games.getRubric("games.go")).toThrow('No rubric at "games.go"; known paths: games, games.pong,');
  });

  test("follow later assignments", () => {
    class Open extends Rubric {
      part: Rubric | undefined = new Fixed(1);
      override forward = () => 1;
    }
    const open = new Open();
    expect(open.namedRubrics()).toHaveLength(1);
    open.part = undefined;
    expect(open.namedRubrics()).toHaveLength(0);
  });

  test("that contain their parent are visited once", () => {
    class Child extends Rubric {
      parent: Rubric | undefined;
      override forward = () => 1;
    }
    const child = new Child();
    const parent = new Half(child);
    child.parent = parent;
    expect(parent.namedRubrics().map(([path]) => path)).toEqual(["inner"]);
    expect(parent.score({}, {})).toBe(0.5);
  });
});

describe("a score", () => {
  test("of sync rubrics is sync, and is kept as the last score at every level", () => {
    const rubric = new Half(new Half(new Fixed(0.8)));
    expect(rubric.lastScore).toBeNull();
    expect(rubric.score({}, {})).toBe(0.2);
    expect(rubric.lastScore).toBe(0.2);
    expect(rubric.namedRubrics().map(([, each]) => each.lastScore)).toEqual([0.4, 0.8]);
  });

  test("of an async rubric is a promise up to the root", async () => {
    const rubric = new Half(new Half(late(0.8)));
    const score = rubric.score({}, {});
    expect(score).toBeInstanceOf(Promise);
    expect(await score).toBe(0.2);
    expect(rubric.getRubric("inner").lastScore).toBe(0.4);
  });

  test("is null again for a rubric that did not run in the last step", () => {
    const games = new Games();
    games.score("", { game: "chess" });
    expect(games.getRubric("games.chess").lastScore).toBe(1);
    games.score("", { game: "pong" });
    expect(games.getRubric("games.chess").lastScore).toBeNull();
    expect(games.getRubric("games.pong").lastScore).toBe(0.25);
  });

  test("receives a signal for cancellation", () => {
    const seen: unknown[] = [];
    class Asks extends Rubric {
      override forward(_action: unknown, _observation: unknown, { signal }: ScoreContext) {
        seen.push(signal);
        return 1;
      }
    }
    const { signal } = new AbortController();
    new Half(new Asks()).score({}, {}, { signal });
    expect(seen).toEqual([signal]);
  });
});

describe("hooks", () => {
  const log: string[] = [];
  const hooked = (rubric: Rubric, name: string, wait: boolean) => {
    const write = (text: string) => {
      if (!wait) return void log.push(text);
      return new Promise<void>((resolve) => setTimeout(resolve, 1)).then(() => void log.push(text));
    };
    rubric.addPreHook((asked) => write(`${name} before ${asked === rubric}`));
    rubric.addPostHook((_rubric, action, observation, score) =>
      write(`${name} after ${action} ${observation} ${score}`),
    );
    return rubric;
  };

  test.each([
    ["sync", false, false],
    ["async hooks on sync rubrics", true, false],
    ["sync hooks on async rubrics", false, true],
    ["async on async", true, true],
  ])("run before and after every forward, parents around children: %s", async (_, wait, slow) => {
    log.length = 0;
    const rubric = hooked(new Half(hooked(slow ? late(1) : new Fixed(1), "inner", wait)), "outer", wait);
    const score = rubric.score("a", "o");
    expect(typeof score === "number").toBe(!wait && !slow);
    expect(await score).toBe(0.5);
    expect(log).toEqual(["outer before true", "inner before true", "inner after a o 1", "outer after a o 0.5"]);
  });

  test("run in the order added, also sync hooks after an async one, until they are removed", async () => {
    const order: number[] = [];
    const rubric = new Fixed(1);
    const remove = rubric.addPreHook(async () => void order.push(1));
    rubric.addPreHook(() => void order.push(2));
    await rubric.score({}, {});
    remove();
    remove();
    expect(rubric.score({}, {})).toBe(1);
    expect(order).toEqual([1, 2, 2]);
  });

  test("fail the score when they fail", async () => {
    const before = new Fixed(1);
    before.addPreHook(() => {
      throw new Error("not today");
    });
    expect(() => before.score({}, {})).toThrow(RubricError);
    expect(before.asked).toBe(0);
    const after = new Fixed(1);
    after.addPostHook(() => Promise.reject(new Error("not today")));
    await expect(after.score({}, {})).rejects.toThrow(RubricError);
    expect(after.lastScore).toBeNull();
  });
});

describe("a failure", () => {
  test.each([
    [
      "sync",
      () =>
        new Fixed(() => {
          throw new TypeError("secret");
        }),
    ],
    ["async", () => new Fixed(() => Promise.reject(new TypeError("secret")))],
  ])("is an error that names the rubric by its path and keeps the cause: %s", async (_, failing) => {
    const rubric = new Half(new Half(failing()));
    const error = await (async () => rubric.score({}, {}))().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EnvironmentError);
    expect(error).toMatchObject({
      code: "RUBRIC_FAILED",
      rubric: "inner.inner",
      message: "the rubric inner.inner failed",
      cause: { message: "secret" },
    });
    expect(rubric.lastScore).toBeNull();
  });

  test("includes the message of an EnvironmentError", () => {
    const failing = new Fixed(() => {
      throw new EnvironmentError("no tests were found");
    });
    expect(() => failing.score({}, {})).toThrow("the rubric Fixed failed: no tests were found");
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, undefined, null, "1", true])("%s is not a score", async (score) => {
    const give = score as number;
    expect(() => new Half(new Fixed(() => give)).score({}, {})).toThrow(
      /^the rubric inner returned .*: a score must be a finite/,
    );
    await expect(late(give).score({}, {})).rejects.toThrow(RubricError);
  });

  test("of one step does not affect the next", () => {
    let fails = true;
    const rubric = new Half(
      new Fixed(() => {
        if (fails) throw new Error("once");
        return 1;
      }),
    );
    expect(() => rubric.score({}, {})).toThrow(RubricError);
    fails = false;
    expect(rubric.score({}, {})).toBe(0.5);
  });
});

class Counter extends Rubric {
  total = 0;
  readonly inner: Rubric | undefined;

  constructor(inner?: Rubric) {
    super();
    this.inner = inner;
  }

  override forward() {
    return ++this.total;
  }

  protected override clear() {
    this.total = 0;
  }

  protected override saveState() {
    return { total: this.total };
  }

  protected override loadState({ total }: Readonly<Record<string, unknown>>) {
    if (typeof total !== "number") throw new TypeError("total must be a number");
    this.total = total;
  }
}

describe("state", () => {
  const tree = () => new Half(new Counter(new Counter()));

  test("is saved with the children as plain JSON, and restored into a tree of the same shape", () => {
    const played = tree();
    played.score({}, {});
    played.score({}, {});
    (played.getRubric("inner.inner") as Counter).total = 7;
    const state = JSON.parse(JSON.stringify(played.stateDict()));
    expect(state).toEqual({ "": {}, inner: { total: 2 }, "inner.inner": { total: 7 } });
    const other = tree();
    other.loadStateDict(state);
    expect(other.stateDict()).toEqual(state);
    expect(other.score({}, {})).toBe(1.5);
  });

  test("of another shape is rejected with the paths, and changes nothing", () => {
    const rubric = tree();
    rubric.score({}, {});
    const before = rubric.stateDict();
    expect(() => rubric.loadStateDict({ "": {}, inner: { total: 5 }, more: {} })).toThrow(
      'missing "inner.inner", unknown "more"',
    );
    expect(() => rubric.loadStateDict([] as never)).toThrow("a state must be an object");
    const broken = { ...before, inner: { total: 9 }, "inner.inner": { total: "x" } };
    expect(() => rubric.loadStateDict(broken)).toThrow("the rubric inner.inner failed");
    expect(rubric.stateDict()).toEqual(before);
  });

  test("is cleared by a reset, also in children", () => {
    const rubric = tree();
    rubric.score({}, {});
    (rubric.getRubric("inner.inner") as Counter).total = 7;
    rubric.reset();
    expect(rubric.stateDict()).toEqual({ "": {}, inner: { total: 0 }, "inner.inner": { total: 0 } });
    expect([rubric.lastScore, rubric.inner.lastScore]).toEqual([null, null]);
  });

  test("that cannot be cleared is an error with the path, after all others have been cleared", () => {
    class Stubborn extends Counter {
      protected override clear(): never {
        throw new TypeError("never");
      }
    }
    const inner = new Counter();
    const rubric = new Half(new Stubborn(inner));
    inner.total = 3;
    expect(() => rubric.reset()).toThrow("the rubric inner failed");
    expect(inner.total).toBe(0);
  });
});
