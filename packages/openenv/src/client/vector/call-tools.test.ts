/** Tool calls in many sessions at once. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineContract } from "../../contract/contract.js";
import { bytes, datetime } from "../../contract/fields.js";
import { defineTools } from "../../contract/tools/tools.js";
import { defineEnvironment } from "../../environment/define-environment.js";
import { serve } from "../../serve.js";
import { connectVector, ToolCallError, type VectorEnv } from "../index.js";

const contract = defineContract({
  name: "booth_env",
  action: z.object({ move: z.enum(["left", "right"]) }),
  observation: z.object({ at: z.int() }),
  tools: defineTools({
    guess: {
      description: "Guesses the word.",
      input: z.object({ word: z.string(), tries: z.int().default(1) }),
      output: z.object({ right: z.boolean(), tries: z.int() }),
    },
    seal: {
      description: "Seals a letter.",
      input: z.object({ letter: bytes(), when: datetime() }),
      output: z.object({ letter: bytes(), when: datetime() }),
    },
    peek: { description: "Looks.", output: z.int() },
    broken: { description: "Fails." },
  }),
});
const environment = defineEnvironment(contract, () => {
  let at = 0;
  return {
    reset: () => ({ observation: { at: (at = 0) } }),
    step: ({ move }) => ({ observation: { at: (at += move === "left" ? -1 : 1) }, reward: 1 }),
    afterTool: ({ name, result }) =>
      name === "guess" && (result as { right: boolean } | undefined)?.right ? { reward: 2, done: true } : {},
    tools: {
      guess: ({ word, tries }) => ({ right: word === "crane", tries }),
      seal: (given) => given,
      peek: () => at,
      broken: () => {
        throw new Error("no luck");
      },
    },
  };
});
const startServer = (maxConcurrentEnvs = 10) => serve(environment, { port: 0, logLevel: "silent", maxConcurrentEnvs });

type Open = (url: string, size: number) => Promise<VectorEnv<typeof contract>>;
const clients: [string, Open][] = [
  ["batch frames", (url, size) => connectVector(url, contract, { size })],
  ["binary batch frames", (url, size) => connectVector(url, contract, { size, binary: true })],
  ["a socket for each session", (url, size) => connectVector(url, contract, { size, ownSockets: true })],
];

describe.each(clients)("callTools with %s", (_, open) => {
  test("calls a different tool in each session, and skips those with null", async () => {
    await using server = await startServer();
    await using envs = await open(server.url, 4);
    await envs.reset();
    await envs.step([{ move: "right" }, { move: "left" }, null, null]);
    const sent = { letter: Uint8Array.from([0, 255]), when: new Date("2026-01-02T03:04:05Z") };
    const [guess, peek, seal, none] = await envs.callTools([
      { name: "guess", arguments: { word: "crane", tries: 2 } },
      { name: "peek" },
      { name: "seal", arguments: sent },
      null,
    ]);
    const right = { name: "guess", data: { right: true, tries: 2 }, error: null };
    expect(guess).toMatchObject({ ...right, outcome: "terminated", reward: 2, done: true });
    expect(peek).toMatchObject({ name: "peek", data: -1, text: "-1", outcome: "ok", reward: 0, done: false });
    expect(seal).toMatchObject({ name: "seal", error: null });
    if (seal?.error === null && seal.name === "seal") {
      expect([...seal.data.letter]).toEqual([0, 255]);
      expect(seal.data.when).toEqual(sent.when);
    }
    expect(none).toBeNull();
    expect(await envs.state()).toMatchObject([2, 2, 1, 0].map((step_count) => ({ step_count })));
  });

  test("reports the failure of a tool as a step, and a loss like every other call", async () => {
    await using server = await startServer();
    await using envs = await open(server.url, 4);
    const calls = [
      { name: "broken" } as const,
      { name: "guess", arguments: { word: 1 as never } } as const,
      { name: "nope" as "peek" } as const,
      { name: "peek" } as const,
    ];
    await envs.reset();
    const results = await envs.callTools(calls);
    expect(results.map((result) => result?.error && (result.error as ToolCallError).errorType)).toEqual([
      "execution_error",
      "invalid_args",
      "tool_not_found",
      null,
    ]);
    expect(results[0]?.error).toBeInstanceOf(ToolCallError);
    expect(results.slice(0, 2)).toMatchObject([
      { name: "broken", outcome: "ok", data: null, reward: null, done: false },
      { name: "guess", outcome: "ok", data: null, reward: 0, done: false },
    ]);
    await envs.close();
    expect(await envs.callTools(calls)).toMatchObject(
      Array(4).fill({ outcome: "lost", error: { code: "CLIENT_CLOSED" }, done: true }),
    );
  });
});

test("an untyped client calls tools by name", async () => {
  await using server = await startServer();
  await using envs = await connectVector(server.url, { size: 2 });
  await envs.reset();
  const results = await envs.callTools([{ name: "guess", arguments: { word: "crane" } }, { name: "peek" }]);
  expect(results).toMatchObject([{ data: { right: true } }, { data: 0 }]);
});

describe("autoreset", () => {
  const win = { name: "guess", arguments: { word: "crane" } } as const;

  test("next-step starts the next episode instead of calling the tool", async () => {
    await using server = await startServer();
    await using envs = await connectVector(server.url, contract, { size: 2, autoreset: "next-step" });
    await envs.reset();
    expect(await envs.callTools([win, { name: "peek" }])).toMatchObject([{ outcome: "terminated" }, { data: 0 }]);
    const [began, called] = await envs.callTools([win, win]);
    expect(began).toMatchObject({ index: 0, began: true, outcome: "ok", observation: { at: 0 }, reward: null });
    expect(began).not.toHaveProperty("error");
    expect(called).toMatchObject({ index: 1, began: false, name: "guess", data: { right: true } });
  });

  test("same-step returns the start of the next episode with the call that ended one", async () => {
    await using server = await startServer();
    await using envs = await connectVector(server.url, contract, { size: 2, autoreset: "same-step" });
    await envs.reset();
    const [won, other] = await envs.callTools([win, { name: "peek" }]);
    expect(won).toMatchObject({ data: { right: true }, reward: 2, next: { outcome: "ok", observation: { at: 0 } } });
    expect(other).toMatchObject({ data: 0, next: null });
  });
});
