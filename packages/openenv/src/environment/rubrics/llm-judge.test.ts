import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { findFreePort } from "../../../../../test-support/free-port.js";
import { sayStatus, sayText, startChatServer } from "../../../../../test-support/other-servers/chat-server.js";
import { waitFor } from "../../../../../test-support/servers/servers.js";
import { RubricError } from "../../errors.js";
import { LLMJudge, type LLMJudgeOptions } from "./llm-judge.js";
import { WeightedSum } from "./weighted-sum.js";

const KEY = "sk-very-secret-1234567890";
const judgeAt = (url: string, more: Partial<LLMJudgeOptions> = {}) =>
  new LLMJudge({ url, model: "small", apiKey: KEY, prompt: "Score {action} and {observation}:", ...more });

async function failureOf(judge: LLMJudge): Promise<RubricError> {
  const error = await (async () => judge.score({}, {}))().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RubricError);
  expect(judge.lastScore).toBeNull();
  return error as RubricError;
}

/** Everything that a log line could contain of an error. */
const everything = (error: unknown) => inspect(error, { depth: 10, showHidden: true });

describe("a judge", () => {
  test("calls any OpenAI-compatible endpoint, and reads 7/10 as 0.7", async () => {
    await using server = await startChatServer((response) => sayText(response, "7/10"));
    const judge = judgeAt(`${server.url}/`, { system: "Be fair.", request: { temperature: 0, model: "other" } });
    expect(await judge.score({ text: "{observation} $& a" }, { done: true })).toBe(0.7);
    expect(judge.lastScore).toBe(0.7);
    const [request] = server.requests;
    expect(request?.path).toBe("/v1/chat/completions");
    expect(request?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(request?.body).toEqual({
      temperature: 0,
      model: "small",
      messages: [
        { role: "system", content: "Be fair." },
        { role: "user", content: 'Score {"text":"{observation} $& a"} and {"done":true}:' },
      ],
    });
  });

  test("needs no key, and accepts a function as prompt and as parser of the reply", async () => {
    await using server = await startChatServer((response) => sayText(response, "grade B"));
    const judge = new LLMJudge<{ text: string }, unknown>({
      url: server.url,
      model: "small",
      prompt: ({ text }) => `Grade {this}: ${text}`,
      parse: (reply) => ({ A: 1, B: 0.75 })[reply.slice(-1)],
    });
    expect(await judge.score({ text: "essay" }, {})).toBe(0.75);
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
    expect(server.requests[0]?.body.messages).toEqual([{ role: "user", content: "Grade {this}: essay" }]);
  });

  test("runs in parallel with other judges", async () => {
    const open: ServerResponse[] = [];
    await using server = await startChatServer((response) => {
      open.push(response);
      if (open.length === 2) for (const each of open) sayText(each, "0.5");
    });
    expect(await new WeightedSum([judgeAt(server.url), judgeAt(server.url)], [0.5, 0.5]).score({}, {})).toBe(0.5);
  });
});

describe("a reply without a score is an error", () => {
  test.each<[string, (response: ServerResponse) => void, RegExp]>([
    ["garbage", (response) => sayText(response, "lorem ipsum"), /reply has no score/],
    ["two numbers", (response) => sayText(response, "0.2 or 0.9"), /reply has no score/],
    ["a refusal in words", (response) => sayText(response, "I'm sorry, I can't help with that."), /reply has no score/],
    ["a refusal", (response) => sayText(response, null, { message: { refusal: "No." } }), /the model refused/],
    ["a truncated answer", (response) => sayText(response, "0.", { finish_reason: "length" }), /"length"/],
    ["a filtered answer", (response) => sayText(response, "", { finish_reason: "content_filter" }), /did not finish/],
    ["a message without content", (response) => sayText(response, null), /returned no text/],
    ["invalid JSON", (response) => sayStatus(response, 200, "<html>"), /invalid JSON/],
    ["JSON of another shape", (response) => sayStatus(response, 200, { score: 0.7 }), /no chat completion/],
    ["a redirect", (response) => sayStatus(response, 307, "", { location: "http://127.0.0.1:1/" }), /status 307/],
    ["a wrong key", (response) => sayStatus(response, 401, { error: `Incorrect API key: ${KEY}` }), /status 401/],
    [
      "a response that is too large",
      (response) => sayStatus(response, 200, " ".repeat(5 * 1024 * 1024)),
      /more than \d+ bytes/,
    ],
  ])("%s", async (_, script, message) => {
    await using server = await startChatServer(script);
    const error = await failureOf(judgeAt(server.url));
    expect(error.message).toMatch(message);
    expect(server.requests).toHaveLength(1);
    expect(everything(error)).not.toContain(KEY);
  });

  test("with the reply in its cause, for the log", async () => {
    await using server = await startChatServer((response) => sayText(response, "lorem ipsum"));
    const error = await failureOf(judgeAt(server.url));
    expect(error.message).not.toContain("lorem");
    expect(everything(error)).toContain("lorem ipsum");
  });
});

describe("a failing endpoint", () => {
  test("is retried after 429, 500 and a lost connection", async () => {
    await using server = await startChatServer((response, nth) => {
      if (nth === 1) return sayStatus(response, 429, {}, { "retry-after": "0" });
      if (nth === 2) return sayStatus(response, 500, "", { "retry-after": new Date(0).toUTCString() });
      if (nth === 3) return void response.socket?.destroy();
      sayText(response, "0.4");
    });
    expect(await judgeAt(server.url).score({}, {})).toBe(0.4);
    expect(server.requests).toHaveLength(4);
  });

  test("is an error after the given number of retries", async () => {
    await using server = await startChatServer((response) => sayStatus(response, 503, KEY, { "retry-after": "0" }));
    const error = await failureOf(judgeAt(server.url, { retries: 2 }));
    expect(error.message).toBe("the rubric LLMJudge failed: the model returned status 503 (3 attempts)");
    expect(server.requests).toHaveLength(3);
    expect(everything(error)).not.toContain(KEY);
  });

  test("is retried with backoff when it sends no retry-after", async () => {
    const times: number[] = [];
    await using server = await startChatServer((response, nth) => {
      times.push(performance.now());
      if (nth < 3) sayStatus(response, 429, {});
      else sayText(response, "1");
    });
    expect(await judgeAt(server.url).score({}, {})).toBe(1);
    const [first = 0, second = 0, third = 0] = times;
    // At least 0.5 s and 1 s; timers may fire slightly early.
    expect(second - first).toBeGreaterThan(450);
    expect(third - second).toBeGreaterThan(950);
  });

  test("times out after the time limit, which includes all retries", async () => {
    await using server = await startChatServer(() => {});
    const error = await failureOf(judgeAt(server.url, { timeoutMs: 3_000 }));
    expect(error.message).toMatch(/did not answer within 3 s$/);
    await waitFor(() => server.givenUp === 1);
    await using busy = await startChatServer((response) => sayStatus(response, 429, {}, { "retry-after": "3600" }));
    const late = await failureOf(judgeAt(busy.url, { timeoutMs: 5_000 }));
    expect(late.message).toMatch(/within 5 s; before that, it returned status 429$/);
  });

  test("is an error when nothing listens on its port", async () => {
    const error = await failureOf(judgeAt(`http://127.0.0.1:${await findFreePort()}/v1`, { retries: 0 }));
    expect(error.message).toMatch(/could not be reached$/);
    expect(everything(error)).toContain("ECONNREFUSED");
  });

  test("is not retried after the signal aborts", async () => {
    await using server = await startChatServer(() => {});
    const controller = new AbortController();
    const scoring = Promise.resolve(judgeAt(server.url).score({}, {}, { signal: controller.signal }));
    await waitFor(() => server.requests.length === 1);
    controller.abort();
    await expect(scoring).rejects.toThrow("the request to the model was cancelled");
    await waitFor(() => server.givenUp === 1);
  });
});

describe("a judge's options", () => {
  test.each<[Partial<LLMJudgeOptions>, RegExp]>([
    [{ url: "not a url" }, /must be an address such as https/],
    [{ url: "ftp://host/v1" }, /must be an address such as https/],
    [{ url: "https://user:pass@host/v1" }, /pass the key as apiKey/],
    [{ model: "" }, /name of a model/],
    [{ apiKey: `${KEY}\n` }, /contains whitespace/],
    [{ timeoutMs: 0 }, /timeoutMs/],
    [{ retries: 1.5 }, /retries/],
  ])("%j are rejected", (options, message) => {
    let thrown: unknown;
    try {
      judgeAt("http://127.0.0.1:1/v1", options);
    } catch (error) {
      thrown = error;
    }
    expect(String(thrown)).toMatch(message);
    expect(everything(thrown)).not.toContain(KEY);
    expect(everything(thrown)).not.toContain("user:pass");
  });

  test("do not reveal the key when printed or saved", () => {
    const judge = judgeAt("http://127.0.0.1:1/v1", { system: "Be fair." });
    const state = judge.stateDict();
    expect(state).toEqual({ "": { prompt: "Score {action} and {observation}:", system: "Be fair." } });
    expect(everything(judge) + JSON.stringify([judge, state])).not.toContain(KEY);
  });

  test("of the prompt are saved and restored", async () => {
    await using server = await startChatServer((response) => sayText(response, "1"));
    const judge = judgeAt(server.url, { prompt: "old" });
    judge.loadStateDict(judgeAt(server.url, { prompt: "new" }).stateDict());
    await judge.score({}, {});
    expect(server.requests[0]?.body.messages).toEqual([{ role: "user", content: "new" }]);
  });
});
