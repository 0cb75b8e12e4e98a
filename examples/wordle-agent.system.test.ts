import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { KEY, runAgent } from "./run-agent.js";
import { scriptedPolicy } from "./wordle-agent/scripted.js";

describe("the wordle agent with a model", { timeout: 120_000 }, () => {
  test("plays whole games over chat completions, and retries temporary errors", async () => {
    await using endpoint = await startEndpoint((nth) => (nth === 1 ? 503 : nth === 3 ? 429 : 200));
    const { code, stdout, stderr } = await run({ OPENAI_BASE_URL: endpoint.url, GAMES: "3" });
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^small-model solved [23] of 3 games, in \d\.\d moves on average$/m);

    const [first] = endpoint.requests;
    expect(first?.path).toBe("/v1/chat/completions");
    expect(first?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(first?.body.model).toBe("small-model");
    expect(first?.body.messages.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(first?.body.messages[1]?.content).toContain("This is Wordle.");
    const longest = endpoint.requests.map(({ body }) => body.messages).sort((a, b) => b.length - a.length)[0] ?? [];
    expect(longest.map(({ role }) => role).slice(0, 4)).toEqual(["system", "user", "assistant", "user"]);
    expect(longest[3]?.content).toMatch(/^\[GAME\] \[[a-z]{5}\]\n\[GAME\] You submitted [^\n]+\nFeedback:\n/);
  });

  test.each([
    ["rejects the key", 401, 1, "the endpoint answered 401"],
    ["stays down", 500, 3, "the endpoint answered 500"],
  ])("fails when the endpoint %s, instead of counting a lost game", async (_, status, asked, message) => {
    await using endpoint = await startEndpoint(() => status);
    const { code, stdout, stderr } = await run({ OPENAI_BASE_URL: endpoint.url });
    expect(code).not.toBe(0);
    expect(endpoint.requests).toHaveLength(asked);
    expect(stderr).toContain(message);
    expect(stdout + stderr).not.toContain(KEY);
  });

  test("names the missing variable when the endpoint is set and the model is not", async () => {
    const { code, stderr } = await run({ OPENAI_BASE_URL: "http://127.0.0.1:1/v1", OPENAI_MODEL: "" });
    expect(code).not.toBe(0);
    expect(stderr).toContain("set OPENAI_MODEL");
  });
});

interface Request {
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: { model: string; messages: { role: string; content: string }[] };
}

/**
 * An endpoint for chat completions. Its model is the script, which thinks aloud. `decide` returns the status of each
 * response.
 */
async function startEndpoint(decide: (nth: number) => number) {
  const requests: Request[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await request.setEncoding("utf8").toArray()).join("")) as Request["body"];
    requests.push({ path: request.url, headers: request.headers, body });
    const status = decide(requests.length);
    response.writeHead(status, { "content-type": "application/json" });
    if (status !== 200) return response.end('{"error":{"message":"not now"}}');
    const content = `Not [about], I think. ${await think(body.messages)} it is.`;
    return response.end(JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content } }] }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

async function think(messages: Request["body"]["messages"]): Promise<string> {
  const policy = scriptedPolicy();
  let guess = "";
  for (const { content } of messages.filter(({ role }) => role === "user")) guess = await policy(content);
  return guess;
}

function run(variables: Record<string, string>): ReturnType<typeof runAgent> {
  return runAgent("wordle-agent", { WORDLE_URL: "", GAMES: "", ...variables });
}
