import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import type { ChatTool, ModelMessage, WantedCall } from "./chat.js";
import { scriptedPolicy } from "./mcp-agent/scripted.js";
import { KEY, runAgent } from "./run-agent.js";

interface Request {
  model: string;
  messages: ModelMessage[];
  tools: ChatTool[];
}

describe("the agent with tools and a model", { timeout: 120_000 }, () => {
  test("gets the tools, gets its errors back, and solves its tasks", async () => {
    await using endpoint = await startEndpoint();
    const { code, stdout, stderr } = await run({ OPENAI_BASE_URL: endpoint.url, EPISODES: "2" });
    expect(code, stderr).toBe(0);
    expect(stdout).toBe("small-model earned 2 in 2 episodes, with 10.0 calls on average\n");
    const [first, second] = endpoint.requests;
    expect(first?.tools[1]).toMatchObject({
      type: "function",
      function: { name: "weigh", parameters: { type: "object", required: ["name"] } },
    });
    expect(second?.messages.slice(-3)).toMatchObject([
      { role: "tool", tool_call_id: "a", content: "The arguments are not JSON." },
      { role: "tool", tool_call_id: "b", content: expect.stringContaining("wrong arguments") },
      { role: "tool", tool_call_id: "c", content: "The arguments are not a JSON object." },
    ]);
    expect(stdout + stderr).not.toContain(KEY);
  });

  test("fails when the endpoint does, instead of counting a lost episode", async () => {
    await using endpoint = await startEndpoint(401);
    const { code, stdout, stderr } = await run({ OPENAI_BASE_URL: endpoint.url });
    expect(code).not.toBe(0);
    expect(stderr).toContain("the endpoint answered 401");
    expect(stdout + stderr).not.toContain(KEY);
  });

  test("names the missing variable when a server is set and no endpoint", async () => {
    const { code, stderr } = await run({ OPENAI_BASE_URL: "", TOOLS_URL: "http://127.0.0.1:9" });
    expect(code).not.toBe(0);
    expect(stderr).toContain("set OPENAI_BASE_URL");
  });
});

/** An endpoint for chat completions with tool calls. Its model makes three mistakes, then follows the script. */
async function startEndpoint(status = 200) {
  const requests: Request[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await request.setEncoding("utf8").toArray()).join("")) as Request;
    requests.push(body);
    response.writeHead(status, { "content-type": "application/json" });
    const message = body.messages.length === 2 ? MISTAKES : await scriptedPolicy(withoutMistakes(body.messages), []);
    response.end(JSON.stringify({ choices: [{ index: 0, message }] }));
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

const wrong = (id: string, given: string): WantedCall => {
  return { id, type: "function", function: { name: "weigh", arguments: given } };
};
const MISTAKES = {
  role: "assistant",
  content: "Well.",
  tool_calls: [wrong("a", "{"), wrong("b", '{"box":1}'), wrong("c", "[1]")],
};

function withoutMistakes(messages: ModelMessage[]): ModelMessage[] {
  return messages.filter((message) => message.role !== "tool" || message.tool_call_id.startsWith("call-"));
}

function run(variables: Record<string, string>): ReturnType<typeof runAgent> {
  return runAgent("mcp-agent", { TOOLS_URL: "", EPISODES: "", ...variables });
}
