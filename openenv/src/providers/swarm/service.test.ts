import { expect, test } from "vitest";
import { renderHealthcheck } from "./service.js";

const SECOND = 1e9;
const image = (healthcheck?: object) => ({ exposed: [], env: {}, healthcheck });

test("a replica is checked every 5 s, or as often as its image says", () => {
  expect(renderHealthcheck(image({}), "1.41")).toEqual({ Interval: 5 * SECOND });
  expect(renderHealthcheck(image({ Interval: 30 * SECOND }), "1.43")).toEqual({ Interval: 5 * SECOND });
  expect(renderHealthcheck(image({ Interval: 2 * SECOND }), "1.41")).toEqual({ Interval: 2 * SECOND });
});

test("while it starts, it is checked every second by an engine that knows StartInterval", () => {
  expect(renderHealthcheck(image({ Interval: 30 * SECOND }), "1.44")).toEqual({
    Interval: 5 * SECOND,
    StartPeriod: 30 * SECOND,
    StartInterval: SECOND,
  });
  expect(renderHealthcheck(image({ StartPeriod: 90 * SECOND }), "1.51")).toMatchObject({ StartPeriod: 90 * SECOND });
});

test("an image without a check has none", () => {
  expect(renderHealthcheck(image(), "1.44")).toBeUndefined();
});
