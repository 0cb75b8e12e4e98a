/** Plugins in workers, which ask what they share in the supervisor. */
import { expect, test, vi } from "vitest";
import { counterModule, createProject, startCommand } from "../../../test-support/commands/command-line.js";

// Each starts several processes, one after the other.
vi.setConfig({ testTimeout: 120_000 });

const FAILED = { code: "PLUGIN_FAILED", message: 'The plugin "sums" failed in central: try again later.' };
/** A message names what the plugin sends, and what its central part returns. */
const PLUGIN = `
const cycle = [];
cycle.push(cycle);
const VALUES = { undefined: undefined, function: () => {}, bigint: 1n, cycle, date: new Date(0), later: Promise.resolve(3) };
let started;
export default {
  name: "sums",
  central: () => ({
    answer({ returned, ...rest }) {
      if (returned === "nothing") return rest;
      if (returned === "block") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      return VALUES[returned];
    },
  }),
  async start(server) {
    started = await server.ask({ returned: "later" });
  },
  routes: {
    "/ask/*": {
      async GET(request, { server }) {
        const [sent, returned] = new URL(request.url).pathname.split("/").slice(2);
        try {
          return Response.json({ started, answer: await server.ask({ returned, sent: VALUES[sent] }) });
        } catch ({ code, message }) {
          return Response.json({ code, message });
        }
      },
    },
  },
};
`;

async function serveWith(workers: string) {
  const project = await createProject({ "environment.ts": counterModule(), "sums.mjs": PLUGIN });
  const args = ["serve", "--port", "0", "--workers", workers, "--plugin", "sums.mjs"];
  const running = startCommand(args, { cwd: project.dir });
  const [, url] = await running.printed(/at (http:\/\/127\.0\.0\.1:\d+)/);
  return {
    running,
    ask: async (sent: string, returned: string) => (await fetch(`${url}/ask/${sent}/${returned}`)).json(),
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await project[Symbol.asyncDispose]();
    },
  };
}

test("start() can ask, and messages and answers are the same with workers as in one process", async () => {
  const given: unknown[][] = [];
  for (const workers of ["1", "2"]) {
    await using server = await serveWith(workers);
    const answers: unknown[] = [];
    for (const value of ["undefined", "function", "bigint", "cycle", "date"]) {
      answers.push(await server.ask("undefined", value), await server.ask(value, "nothing"));
    }
    given.push(answers);
  }
  expect(given[1]).toEqual(given[0]);
  const answered = (answer: unknown) => ({ started: 3, answer });
  const date = "1970-01-01T00:00:00.000Z";
  const nothing = [answered(null), answered({})];
  const expected = [nothing, nothing, [FAILED, FAILED], [FAILED, FAILED], [answered(date), answered({ sent: date })]];
  expect(given[0]).toEqual(expected.flat());
});

test("ask() rejects in a worker when the central part blocks the supervisor", async () => {
  await using server = await serveWith("2");
  expect(await server.ask("undefined", "block")).toEqual(FAILED);
  // It does not end by itself any more.
  server.running.process.kill("SIGKILL");
});
