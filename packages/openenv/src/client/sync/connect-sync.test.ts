/** Scripts in separate processes, as a blocking client is used; they load the built package. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { DESK_TOOLS, defineDesk } from "../../../../../test-support/environments/tool-environment.js";
import { type ScriptedPeer, startScriptedServer } from "../../../../../test-support/other-servers/scripted-server.js";
import { serve } from "../../serve.js";

const PACKAGE = join(import.meta.dirname, "../../..");

/** Runs the script and returns the JSON lines that it printed. If it does not exit, it is killed and the test fails. */
async function play(url: string, script: string): Promise<unknown[]> {
  const source = `
    import { ConnectionError, RemoteError } from "openenv-ts";
    import { connectSync } from "openenv-ts/sync";
    const url = ${JSON.stringify(url)};
    const tell = (value) => console.log(JSON.stringify(value));
    const failure = (call) => { try { call(); } catch (error) { return error; } };
    ${script}`;
  const args = ["--input-type=module", "--eval", source];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: PACKAGE, timeout: 20_000 });
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
}

/** A counter: adds the amount of each step. */
async function count(peer: ScriptedPeer): Promise<void> {
  let sum = 0;
  for (let steps = 0; ; ) {
    const { type, data } = (await peer.receive()) as { type: string; data?: { amount?: number } };
    if (type === "state") peer.send({ type: "state", data: { episode_id: "e", step_count: steps, total: sum } });
    else if (data?.amount === 13) peer.send({ type: "error", data: { message: "unlucky", code: "EXECUTION_ERROR" } });
    else if (data?.amount === 99) peer.socket.terminate();
    else if (data?.amount !== 50) {
      steps = type === "reset" ? 0 : steps + 1;
      sum = type === "reset" ? 0 : sum + (data?.amount ?? 0);
      peer.send({ type: "observation", data: { observation: { count: sum, metadata: {} }, reward: 1, done: sum > 9 } });
    }
  }
}

describe("the tools of a blocking client", () => {
  it("are methods, with and without a contract", async () => {
    await using server = await serve(defineDesk().environment, { port: 0, logLevel: "silent" });
    const told = await play(
      server.url,
      `import { contractFromSchemas } from "openenv-ts/client";
      const contract = contractFromSchemas("desk_env", await (await fetch(url + "/schema")).json());
      for (const env of [connectSync(url, contract), connectSync(url)]) {
        env.reset();
        tell(Object.keys(env.tools).length);
        tell(env.tools.greet({ name: "Bo" }).data);
        tell([env.tools.tally().reward, env.tools.tally({}, { timeoutMs: 5_000 }).done]);
        const error = failure(() => env.tools.fail({ why: "no luck" }));
        tell([error.constructor.name, error.toolName, error.errorType, error.reward]);
        env.close();
      }`,
    );
    const expected = [
      DESK_TOOLS.length + 1,
      { greeting: "Hello, Bo!" },
      [0.5, true],
      ["ToolCallError", "fail", "execution_error", null],
    ];
    expect(told).toEqual([...expected, ...expected]);
  });
});

describe("a blocking client", () => {
  it("plays an episode without a promise", async () => {
    await using server = await startScriptedServer(count);
    const told = await play(
      server.url,
      `const env = connectSync(url);
      tell(env.url);
      let result = env.reset({ seed: 1 });
      while (!result.done) result = env.step({ amount: 4 });
      tell(result);
      tell(env.state());
      env[Symbol.dispose]();
      env.close();`,
    );
    expect(told).toEqual([
      server.url,
      { outcome: "terminated", observation: { count: 12 }, reward: 1, done: true, metadata: {}, warnings: [] },
      { episode_id: "e", step_count: 3, total: 12 },
    ]);
  });

  it("throws the errors of the asynchronous one, with their code and outcome", async () => {
    await using server = await startScriptedServer(count);
    const told = await play(
      server.url,
      `const env = connectSync(url);
      env.reset();
      const remote = failure(() => env.step({ amount: 13 }));
      tell([remote instanceof RemoteError, remote.code, remote.message, env.tryStep({ amount: 13 }).outcome]);
      tell(env.step({ amount: 1 }).observation);
      const late = failure(() => env.step({ amount: 50 }, { timeoutMs: 20 }));
      tell([late instanceof ConnectionError, late.code, env.sessionLost, env.tryStep({ amount: 1 }).outcome]);
      tell([env.tryReset().outcome, env.sessionLost]);
      tell([failure(() => env.step({ amount: 99 })).code, failure(() => env.state()).code]);
      env.close();
      tell(failure(() => env.reset()).code);
      tell(failure(() => connectSync("http://127.0.0.1:9")).code);`,
    );
    expect(told).toEqual([
      [true, "EXECUTION_ERROR", "unlucky", "env_error"],
      { count: 1 },
      [true, "CLIENT_TIMEOUT", true, "lost"],
      ["ok", false],
      ["SESSION_LOST", "SESSION_LOST"],
      "CLIENT_CLOSED",
      "CONNECTION_FAILED",
    ]);
  });

  it("checks actions against the server's schema, and reads metadata and tasks", async () => {
    await using server = await startScriptedServer(count, {
      "/schema": { action: { type: "object", properties: { amount: { type: "integer" } } } },
      "/metadata": { name: "counter" },
      "/list_environments": ["counter"],
      "/counter/splits": [{ name: "train", type: "train" }],
    });
    const told = await play(
      server.url,
      `const env = connectSync(url);
      const error = failure(() => env.step({ amount: "1" }));
      tell([error.code, error.errors[0].loc]);
      tell([env.metadata(), env.tasks.splits()]);
      tell(failure(() => env.tasks.count("train")).details.status);`,
    );
    expect(told).toEqual([
      ["VALIDATION_ERROR", ["amount"]],
      [{ name: "counter" }, [{ name: "train", type: "train" }]],
      404,
    ]);
  });

  it("gives typed observations with a contract, whose schemas stay on the calling thread", async () => {
    await using server = await startScriptedServer(count);
    const contract = `
      const { defineContract } = await import("openenv-ts");
      const z = await import("zod");
      const counter = defineContract({
        name: "counter_env",
        action: z.object({ amount: z.int() }),
        observation: z.object({ count: z.int(), note: z.string().default("none") }),
        state: z.object({ total: z.int() }),
      });
      const other = defineContract({
        name: "other_env", action: z.object({ amount: z.int() }), observation: z.object({ sum: z.int() }),
      });`;
    const told = await play(
      server.url,
      `${contract}
      const env = connectSync(url, counter);
      tell(env.reset().observation);
      tell(failure(() => env.step({ amount: 0.5 })).errors[0].loc);
      tell(env.state());
      tell(failure(() => connectSync(url, other).reset()).message.includes("observation.sum"));`,
    );
    expect(told).toEqual([{ count: 0, note: "none" }, ["amount"], { episode_id: "e", step_count: 0, total: 0 }, true]);
  });

  it("compares its contract with the server's before it opens a session", async () => {
    const schema = { type: "object", properties: {} };
    await using server = await startScriptedServer(count, {
      "/metadata": { name: "other_env" },
      "/schema": { action: schema, observation: schema, state: schema },
    });
    const told = await play(
      server.url,
      `const { defineContract } = await import("openenv-ts");
      const z = await import("zod");
      const part = z.object({ count: z.int() });
      const counter = defineContract({ name: "counter_env", action: part, observation: part });
      const error = failure(() => connectSync(url, counter));
      tell([error.code, error.fields.some((field) => field.includes("observation.count"))]);
      tell(error.message.includes(url + " (other_env)"));
      tell(connectSync(url, counter, { check: false }).reset().observation);`,
    );
    expect(told).toEqual([["CONTRACT_MISMATCH", true], true, { count: 0 }]);
    expect(server.opened).toBe(1);
  });

  it("rejects a server of the same process, and only that", async () => {
    await using server = await startScriptedServer(count);
    const told = await play(
      server.url,
      `const { port } = new URL(url);
      globalThis[Symbol.for("openenv.listening")] = new Set([Number(port)]);
      tell(failure(() => connectSync(url)).code);
      tell(failure(() => connectSync("localhost:" + port)).code);
      globalThis[Symbol.for("openenv.listening")].clear();
      tell(connectSync(url).reset().outcome);`,
    );
    expect(told).toEqual(["SYNC_SAME_PROCESS", "SYNC_SAME_PROCESS", "ok"]);
  });

  it.each([
    ["is closed", "env.close();", [1000, 1]],
    ["is forgotten", "", [1006, 0]],
  ])("lets the process end when it %s", async (_, ending, [code, closeFrames]) => {
    const seen = { code: 0, closeFrames: 0 };
    await using server = await startScriptedServer(async (peer) => {
      peer.socket.on("message", (text) => (seen.closeFrames += String(text) === '{"type":"close"}' ? 1 : 0));
      void peer.closed.then((closed) => (seen.code = closed));
      await count(peer);
    });
    await play(server.url, `const env = connectSync(url); env.reset(); ${ending}`);
    await expect.poll(() => seen).toEqual({ code, closeFrames });
  });
});
