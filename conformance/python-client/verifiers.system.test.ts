import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../packages/openenv/src/connect.js";
import { serve } from "../../packages/openenv/src/serve.js";
import { startCommand } from "../../test-support/commands/command-line.js";
import { DESK_TOOLS, defineDesk } from "../../test-support/environments/tool-environment.js";
import { requireVerifiers } from "../../test-support/requirement.js";
import { startPythonServer } from "../python-server/start-server.js";

const verifiers = await requireVerifiers();
const here = import.meta.dirname;

interface Rollout {
  ok: boolean;
  errors: string[];
  stop: string;
  rewards: Record<string, number>;
  prompts: { observation: Record<string, unknown>; action_schema: Schema }[];
}
interface Schema {
  title: string;
  available_tools: { name: string; input_schema: object }[];
}

const call = (tool_name: string, args: object = {}) =>
  JSON.stringify({ type: "call_tool", tool_name, arguments: args });

/** The answers of the model, one for each turn; an empty answer ends the rollout. */
const ANSWERS: Record<string, string[]> = {
  echo: [call("echo_message", { message: "hello" }), '{"message": "hello"}', ""],
  desk: [call("fail", { why: "tired" }), call("tally"), call("tally")],
  python: [call("greet", { name: "Bo" }), call("tally"), call("fail", { why: "tired" }), ""],
  front: [call("greet", { name: "Bo" }), call("tally"), call("fail", { why: "tired" }), ""],
};

describe.skipIf(!verifiers.available)("the trainer verifiers", () => {
  let echo: Rollout;
  let desk: Rollout;
  /** A server of the Python package, and our front of it. */
  let direct: Rollout;
  let passed: Rollout;
  /** The result of a failed call. */
  let failed: { reward: unknown };

  beforeAll(async () => {
    const file = fileURLToPath(new URL("../../envs/echo/server/environment.ts", import.meta.url));
    await using command = startCommand(["serve", file, "--port", "0"], { cwd: here });
    const [, echoUrl = ""] = await command.printed(/ at (http:\S+)/);
    await using deskServer = await serve(defineDesk().environment, { port: 0, logLevel: "silent" });
    await using env = await connect(deskServer.url);
    await env.reset();
    failed = await env.step(JSON.parse(ANSWERS["desk"]?.[0] ?? ""));
    await using model = await startModel();
    // The package stores files in the home folder, and reads a login from it.
    const home = await mkdtemp(join(tmpdir(), "openenv-verifiers-"));
    try {
      await using python = await startPythonServer(verifiers.path, 4, "tools_server.py");
      const upstream = ["--upstream", python.url, "--upstream-sessions", "4", "--port", "0"];
      await using front = startCommand(["serve", ...upstream], { cwd: here });
      const [, frontUrl = ""] = await front.printed(/ at (http:\S+)/);
      const others = [`python=${python.url}`, `front=${frontUrl}`];
      const servers = [`echo=${echoUrl}`, `desk=${deskServer.url}`, ...others];
      const { stdout } = await promisify(execFile)(
        verifiers.path,
        [join(here, "verifiers_rollouts.py"), join(home, "runs"), model.url, ...servers],
        { env: { ...process.env, HOME: home, PYTHONDONTWRITEBYTECODE: "1" } },
      );
      const rollouts = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as [Rollout, Rollout, Rollout, Rollout];
      [echo, desk, direct, passed] = rollouts;
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  }, 240_000);

  test("gets the tools of echo and passes them to the model", () => {
    const schema = echo.prompts[0]?.action_schema;
    expect(schema?.title).toBe("CallToolAction");
    expect(schema?.available_tools).toMatchObject([
      { name: "echo_message", input_schema: { required: ["message"] } },
      { name: "echo_with_length", input_schema: { required: ["message"] } },
    ]);
  });

  test("runs echo with a tool call and with the action, and gets the reward", () => {
    expect(echo).toMatchObject({ ok: true, errors: [], stop: "empty_action", rewards: { openenv_reward: 0.5 } });
    expect(echo.prompts.map(({ observation }) => observation)).toMatchObject([
      { echoed_message: "Echo environment ready!", metadata: { status: "ready" } },
      { tool_name: "echo_message", result: { data: "hello" }, error: null },
      { echoed_message: "hello", message_length: 5 },
    ]);
  });

  test("gets the same of a Python server through a front", () => {
    expect(passed).toEqual(direct);
    expect(direct.prompts[1]?.observation).toMatchObject({ tool_name: "greet", error: null });
  });

  test("runs an environment with only tools until it is done", () => {
    expect(desk.prompts[0]?.action_schema.available_tools.map(({ name }) => name).sort()).toEqual(
      [...DESK_TOOLS].sort(),
    );
    expect(desk).toMatchObject({ ok: true, errors: [], stop: "user_closed", rewards: { openenv_reward: 1 } });
  });

  test("counts the null reward of a tool that failed as 0", () => {
    expect(failed.reward).toBeNull();
    expect(desk.prompts[1]?.observation).toMatchObject({ result: null, error: { error_type: "execution_error" } });
    expect(desk.prompts).toHaveLength(3);
    expect(desk.rewards).toEqual({ openenv_reward: 1 });
  });
});

/** A model with the OpenAI API. The requested model name selects the answers. */
async function startModel() {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { model, messages } = JSON.parse(body) as { model: string; messages: { role: string }[] };
    const turn = messages.filter(({ role }) => role === "assistant").length;
    const message = { role: "assistant", content: ANSWERS[model]?.[turn] };
    const choices = [{ index: 0, finish_reason: "stop", message }];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id: "1", object: "chat.completion", created: 0, model, choices, usage }));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
