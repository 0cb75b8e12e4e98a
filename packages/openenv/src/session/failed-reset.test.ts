/** A reset that was answered with an error has begun no episode, whatever the reason for the error. */
import { expect, test } from "vitest";
import * as z from "zod";
import { useServers } from "../../../../test-support/servers/servers.js";
import { connect } from "../connect.js";
import { defineContract, defineEnvironment, type EnvironmentDefinition } from "../index.js";
import { SessionProtocol } from "../server/websocket/session-protocol.js";
import { Sessions } from "./registry/sessions.js";
import { createRuntime } from "./runtime.js";

const servers = useServers();

const contract = defineContract({
  name: "broken_reset_env",
  action: z.object({}),
  observation: z.object({ count: z.int(), text: z.string().default("") }),
  reset: z.object({ how: z.enum(["works", "throws", "differs", "is large", "is late"]).default("works") }),
});

const environment = defineEnvironment(contract, () => ({
  reset: async ({ how, signal }) => {
    if (how === "throws") throw new Error("no board");
    if (how === "is late") await new Promise((resolve) => signal.addEventListener("abort", resolve));
    if (how === "is large") return { observation: { count: 0, text: "x".repeat(5_000) } };
    return { observation: { count: how === "differs" ? 1.5 : 0 } };
  },
  step: () => ({ observation: { count: 1 }, reward: 1, done: true }),
}));

const broken = ["throws", "differs"] as const;
const NO_EPISODE = { openenv_code: "NO_EPISODE" };

test.each(broken)("a step after a reset that %s has no episode, on a socket and over HTTP", async (how) => {
  const server = await servers.start(
    { maxMessageBytes: 4_000 },
    { environment: environment as unknown as EnvironmentDefinition<never> },
  );
  const socket = await servers.open(server);
  // The failed reset has ended the episode before it, too.
  await socket.ask({ type: "reset" });
  expect(await socket.ask({ type: "reset", data: { how } })).toMatchObject({ type: "error" });
  expect(await socket.ask({ type: "step", data: {} })).toMatchObject({ type: "error", data: NO_EPISODE });
  expect(await socket.ask({ type: "state" })).toMatchObject({ data: { episode_id: null } });
  await socket.ask({ type: "reset" });
  expect(await socket.ask({ type: "step", data: {} })).toMatchObject({ data: { reward: 1 } });

  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(server.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const headers = { "openenv-session": String((await post("/reset", {})).headers.get("openenv-session")) };
  expect((await post("/reset", { how }, headers)).status).toBeGreaterThanOrEqual(500);
  expect(await (await post("/step", { action: {} }, headers)).json()).toMatchObject(NO_EPISODE);
});

test("a reset that ends after its time limit begins no episode", async () => {
  const runtime = createRuntime(environment as unknown as EnvironmentDefinition);
  const session = await new Sessions(runtime, { maxConcurrentEnvs: 1, sessionTimeoutMs: null }).open();
  const reset = session.call({ type: "reset", data: { how: "is late" } }, { timeoutMs: 1 });
  expect(await reset).toMatchObject({ data: { code: "TIMEOUT" } });
  expect(await session.call({ type: "step", data: {} })).toMatchObject({ data: NO_EPISODE });
});

test("a reset whose answer is too large to be sent begins no episode", async () => {
  const runtime = createRuntime(environment as unknown as EnvironmentDefinition, { maxAnswerBytes: 1_000 });
  const sessions = new Sessions(runtime, { maxConcurrentEnvs: 1, sessionTimeoutMs: null });
  const session = await sessions.open();
  const protocol = new SessionProtocol(runtime, sessions);
  const connection = {
    session,
    batch: undefined,
    extensions: [],
    orchestrator: false,
    principal: undefined,
    answered: true,
    arrivedAt: 0,
    peer: undefined,
  };
  const socket = { ...connection, opensSession: true, resume: undefined, cancels: undefined };
  const ask = async (message: object) =>
    JSON.parse(String(await protocol.answer(socket, JSON.stringify(message)))) as object;
  expect(await ask({ type: "reset", data: { how: "is large" } })).toMatchObject({ type: "error" });
  expect(await ask({ type: "step", data: {} })).toMatchObject({ data: NO_EPISODE });
});

test("a step after a reset that does not fit the contract has no episode in process", async () => {
  await using env = await connect(environment);
  await expect(env.reset({ how: "differs" })).rejects.toMatchObject({ code: "EXECUTION_ERROR" });
  await expect(env.step({})).rejects.toMatchObject({ code: "NO_EPISODE" });
  await env.reset();
  expect(await env.step({})).toMatchObject({ reward: 1 });
});
