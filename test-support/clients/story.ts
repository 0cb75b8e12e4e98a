import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { defineContract, defineEnvironment, defineTools } from "../../packages/openenv/src/index.js";
import { serve } from "../../packages/openenv/src/serve.js";
import { type Gateway, startGateway } from "../proxies/gateway.js";

const TOKEN = "the client's token";
/** Amounts with which a step does something to its own connection. */
const [CUT, HANG, SLOW] = [100, 1_000, 2_000];

/**
 * What a program does with the client, in each runtime: a module with `play(url)`, whose result is {@link EXPECTED}. It
 * imports only the entry of clients.
 */
export const STORY = `
import { connect, connectTools, ConnectionError, RemoteError } from "openenv-ts/client";

const options = { token: ${JSON.stringify(TOKEN)} };
const failure = (promise) =>
  promise.then(
    () => "none",
    (error) => [error instanceof ConnectionError || error instanceof RemoteError, error.code],
  );

export async function play(url) {
  const report = {};
  let recoveries = 0;
  const env = await connect(url, { ...options, resume: { pingIntervalMs: 3_000, onRecovered: () => recoveries++ } });
  report.reset = (await env.reset({ seed: 1, episodeId: "story" })).observation;
  const { observation, reward, outcome } = await env.step({ amount: 2 });
  report.step = { observation, reward, outcome };
  report.refused = await failure(env.step({ amount: "many" }));
  const resumed = await env.step({ amount: ${CUT} });
  // Longer than two pings.
  const slow = await env.step({ amount: ${SLOW} });
  report.slow = { observation: slow.observation, recoveries };
  report.resumed = { observation: resumed.observation, recovered: resumed.recovered };
  report.state = await env.state();
  report.tool = (await env.tools.greet({ name: "Bo" })).data;
  report.timeout = await failure(env.step({ amount: ${HANG} }, { timeoutMs: 100 }));
  await env.close();
  report.closed = await failure(env.step({ amount: 1 }));

  const tools = await connectTools(url, options);
  await tools.reset();
  report.tools = (await tools.listTools()).map(({ name }) => name);
  report.called = (await tools.callTool("greet", { name: "Al" })).data;
  await tools.close();

  const binary = await connect(url, { ...options, binary: true });
  await binary.reset();
  report.binary = (await binary.step({ amount: 3 })).observation;
  await binary.close();

  report.unauthorized = await failure(connect(url, { token: "another" }));
  report.unreachable = await failure(connect("http://127.0.0.1:9", { connectTimeoutMs: 2_000 }));
  return report;
}
`;

export const EXPECTED = {
  reset: { count: 0 },
  step: { observation: { count: 2 }, reward: 2, outcome: "ok" },
  refused: [true, "VALIDATION_ERROR"],
  // The server has executed the step once.
  resumed: { observation: { count: 2 + CUT }, recovered: true },
  slow: { observation: { count: 2 + CUT + SLOW }, recoveries: 1 },
  state: { episode_id: "story", step_count: 3 },
  tool: "Hello, Bo!",
  timeout: [true, "CLIENT_TIMEOUT"],
  closed: [true, "CLIENT_CLOSED"],
  tools: ["greet"],
  called: "Hello, Al!",
  binary: { count: 3 },
  unauthorized: [true, "REQUEST_FAILED"],
  unreachable: [true, "CONNECTION_FAILED"],
};

const contract = defineContract({
  name: "story_env",
  action: z.object({ amount: z.int() }),
  observation: z.object({ count: z.int() }),
  tools: defineTools({ greet: { description: "Greets.", input: z.object({ name: z.string() }), output: z.string() } }),
});

/** The server of the story, which requires a token, behind a proxy that breaks the connection of a step. */
export async function startStoryServer(allowedOrigins: string[] = []) {
  let proxy: Gateway | undefined;
  const environment = defineEnvironment(contract, () => {
    let count = 0;
    return {
      reset: () => ({ observation: { count: (count = 0) } }),
      step: async ({ amount }) => {
        if (amount === CUT) proxy?.cut();
        if (amount === HANG) await sleep(1_000);
        if (amount === SLOW) await sleep(7_000);
        return { observation: { count: (count += amount) }, reward: amount };
      },
      tools: { greet: ({ name }) => `Hello, ${name}!` },
    };
  });
  const options = { port: 0, logLevel: "silent", graceMs: 200, clientToken: TOKEN, allowedOrigins } as const;
  const server = await serve(environment, options);
  const gateway = (proxy = await startGateway(server, "passes"));
  return {
    url: gateway.url,
    activeSessions: () => server.capacity().active_sessions,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await server.close();
    },
  };
}
