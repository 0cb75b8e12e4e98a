import { expect, test } from "vitest";
import { renderLife } from "./service.js";

const SECOND = 1e9;
const image = (healthcheck?: object, env = {}) => ({ exposed: [], env, healthcheck });

function checkOf(healthcheck: object | undefined, apiVersion: string) {
  return (renderLife(image(healthcheck), {}, apiVersion) as { Healthcheck: object | undefined }).Healthcheck;
}

test("a replica is checked every 5 s, or as often as its image says", () => {
  expect(checkOf({ Interval: 5 * SECOND, Retries: 12 }, "1.41")).toEqual({ Interval: 5 * SECOND, Retries: 12 });
  expect(checkOf({ Interval: 30 * SECOND, Retries: 1 }, "1.43")).toMatchObject({ Interval: 5 * SECOND });
  expect(checkOf({ Interval: 2 * SECOND }, "1.41")).toMatchObject({ Interval: 2 * SECOND });
});

test("a replica that is checked more often than its image says is not restarted sooner", () => {
  // What an engine does where an image says nothing is 3 failures, 30 s apart.
  expect(checkOf({}, "1.41")).toEqual({ Interval: 5 * SECOND, Retries: 18 });
  expect(checkOf({ Interval: 60 * SECOND, Retries: 4 }, "1.41")).toMatchObject({ Retries: 48 });
});

test("while it starts, it is checked every second by an engine that knows StartInterval", () => {
  expect(checkOf({ Interval: 30 * SECOND }, "1.44")).toMatchObject({
    Interval: 5 * SECOND,
    StartPeriod: 30 * SECOND,
    StartInterval: SECOND,
  });
  expect(checkOf({ StartPeriod: 90 * SECOND }, "1.51")).toMatchObject({ StartPeriod: 90 * SECOND });
});

test("an image without a check has none", () => {
  expect(checkOf(undefined, "1.44")).toBeUndefined();
});

test("a replica is killed after the time that its variables give its sessions, those of the start before the image's", () => {
  const ofImage = image(undefined, { SHUTDOWN_DRAIN: "7", SHUTDOWN_GRACE: "1" });
  expect(renderLife(ofImage, {}, "1.41")).toMatchObject({ StopGracePeriod: 10 * SECOND });
  expect(renderLife(ofImage, { SHUTDOWN_DRAIN: "60" }, "1.41")).toMatchObject({ StopGracePeriod: 63 * SECOND });
});
