/** Differences of divergences.yaml without a recorded case or a test in the package. */
import { expect, test } from "vitest";
import { Stage } from "./replay/stage.js";

const STEP = { type: "step", data: { amount: 1000 } };

async function post(url: string, body: object): Promise<{ status: number; text: string }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: response.status, text: await response.text() };
}

test("a validation error has no link", async () => {
  await using stage = await Stage.open("counter");
  const socket = await stage.hold();
  await socket.send(JSON.stringify(STEP));
  const [frame] = await socket.take(1);
  const { status, text } = await post(`${stage.url}/step`, { action: STEP.data });
  expect(frame).toMatchObject({ data: { errors: [{ type: "less_than_equal" }] } });
  expect(status).toBe(422);
  expect(`${JSON.stringify(frame)} ${text}`).not.toMatch(/"url"|https?:/);
});

test("a step without a session resets first", async () => {
  await using stage = await Stage.open("strict");
  const { status, text } = await post(`${stage.url}/step`, { action: { amount: 2 } });
  expect([status, JSON.parse(text)]).toMatchObject([200, { observation: { count: 2 } }]);
});

test("integers beyond 2^53 are rounded", async () => {
  await using stage = await Stage.open("kinds");
  const { text } = await post(`${stage.url}/step`, { action: { text: "hi", anything: 0 } });
  expect(BigInt(/"big":(\d+)/.exec(text)?.[1] ?? 0)).not.toBe(2n ** 60n);
  expect((JSON.parse(text) as { observation: { big: number } }).observation.big).toBe(2 ** 60);
});

test("the default capacity is a hundred sessions", async () => {
  await using stage = await Stage.open("strict");
  expect(stage.server.capacity()).toMatchObject({ active_sessions: 0, max_sessions: 100 });
});
