import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatRolloutQuery, parseRolloutQuery, ROLLOUT_OUTCOMES, type RolloutTerm } from "./rollout-query.js";

const termsOf = (text: string) => {
  const { terms, errors } = parseRolloutQuery(text);
  expect(errors).toEqual([]);
  return terms;
};

describe("parseRolloutQuery()", () => {
  test.each<[string, object]>([
    ["reward:<0.2", { field: "reward", range: { min: null, max: 0.2, exclusive: true } }],
    ["reward:>=-1e-3", { field: "reward", range: { min: -0.001, max: null } }],
    ["reward:0.2..0.5", { field: "reward", range: { min: 0.2, max: 0.5 } }],
    ["reward:..0.5", { field: "reward", range: { min: null, max: 0.5 } }],
    ["steps:>10", { field: "steps", range: { min: 10, max: null, exclusive: true } }],
    ["steps:3", { field: "steps", range: { min: 3, max: 3 } }],
    ["duration:>30s", { field: "duration", range: { min: 30_000, max: null, exclusive: true } }],
    ["duration:500ms..2m", { field: "duration", range: { min: 500, max: 120_000 } }],
    ["duration:<2", { field: "duration", range: { min: null, max: 2000, exclusive: true } }],
    ["outcome:stuck", { field: "outcome", value: "stuck" }],
    ['run:"my run"', { field: "run", value: "my run" }],
    ["label:model=m=1", { field: "label", name: "model", value: "m=1" }],
    ['label:"a b"="c d"', { field: "label", name: "a b", value: "c d" }],
    ["after:2026-11-28T10:00Z", { field: "after", at: Date.UTC(2026, 10, 28, 10) }],
    ["Reward:1", { field: "reward", range: { min: 1, max: 1 } }],
    ['"http://a b"', { field: "text", value: "http://a b" }],
    ['"run:x"', { field: "text", value: "run:x" }],
    ["-", { field: "text", value: "-" }],
    ["1:2", { field: "text", value: "1:2" }],
  ])("reads %s", (text, term) => {
    expect(termsOf(text)).toEqual([{ negated: false, ...term }]);
  });

  test("reads several terms, negated ones, and their places", () => {
    const text = ' -tool:search  timeout "a \\"b\\"" ';
    const { terms, places } = parseRolloutQuery(text);
    expect(terms).toEqual([
      { negated: true, field: "tool", value: "search" },
      { negated: false, field: "text", value: "timeout" },
      { negated: false, field: "text", value: 'a "b"' },
    ]);
    expect(places.map(({ start, end }) => text.slice(start, end))).toEqual(["-tool:search", "timeout", '"a \\"b\\""']);
    expect(termsOf("")).toEqual([]);
  });

  test.each([
    ["reward:low", '"low" is not a range of numbers: write it like reward:<2'],
    ["steps:3s", '"3s" is not a range'],
    ["reward:2..1", "ends before it begins"],
    ["reward:..", "is not a range"],
    ["rewrad:1", 'There is no field "rewrad". Did you mean reward?'],
    ["http://x", "put it into double quotes"],
    ["outcome:bad", '"bad" is not an outcome: use stuck, running'],
    ["run:", '"run:" needs a value'],
    ["after:noon", '"noon" is not a time'],
    ["label:x", "label:name=value"],
    ['"open', "A double quote has no partner"],
    ['""', "A double quote has no partner or no content"],
  ])("names what is wrong with %s", (text, message) => {
    const { terms, errors } = parseRolloutQuery(`one ${text}`);
    expect(terms[0]).toEqual({ negated: false, field: "text", value: "one" });
    expect(errors[0]).toMatchObject({ start: 4, message: expect.stringContaining(message) });
    expect(text).toContain(errors[0]?.term);
  });

  test("limits the length and the number of terms", () => {
    expect(parseRolloutQuery("x".repeat(5000)).errors).toHaveLength(1);
    const { terms, errors } = parseRolloutQuery("x ".repeat(100));
    expect([terms.length, errors.length]).toEqual([64, 1]);
  });
});

test("formatRolloutQuery() writes what reads as the same terms", () => {
  const value = fc.string({ minLength: 1, maxLength: 8 });
  const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
  const range = fc.oneof(
    number.map((max) => ({ min: null, max, exclusive: true as const })),
    number.map((min) => ({ min, max: null })),
    fc.tuple(number, number).map(([a, b]) => ({ min: Math.min(a, b), max: Math.max(a, b) })),
  );
  const term = fc.oneof(
    fc.record({ field: fc.constantFrom("reward", "steps", "duration", "policy", "seed"), range }),
    fc.record({ field: fc.constantFrom("run", "group", "task", "tool", "error"), value }),
    fc.record({ field: fc.constant("outcome"), value: fc.constantFrom(...ROLLOUT_OUTCOMES) }),
    fc.record({ field: fc.constant("label"), name: value, value }),
    fc.record({ field: fc.constant("after"), at: fc.integer({ min: 0, max: 4e12 }) }),
    fc.record({ field: fc.constant("text"), value }),
  );
  const terms = fc.array(fc.tuple(term, fc.boolean()).map(([one, negated]) => ({ ...one, negated }) as RolloutTerm));
  fc.assert(
    fc.property(terms, (given) => {
      expect(termsOf(formatRolloutQuery(given))).toEqual(given);
    }),
  );
});

test("parseRolloutQuery() never throws", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void parseRolloutQuery(text)));
});
