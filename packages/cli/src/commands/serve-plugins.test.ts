import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { openTestSocket, type TestSocket } from "../../../../test-support/sockets/socket.js";

/** Each starts several processes, one after the other. */
vi.setConfig({ testTimeout: 120_000 });

const URL_LINE = /at (http:\/\/127\.0\.0\.1:\d+)/;
const MANIFEST = "name: counter_env\nplugins: [plugins/closed.ts]\n";
/** Counts sessions over all workers, and answers with the worker. */
const COUNT = `import { definePlugin } from "openenv-ts/plugin";
export default definePlugin({
  name: "count",
  central() {
    const open: number[] = [];
    return {
      answer: (_message, worker) => open.push(worker),
      workerEnded: (worker) => void open.splice(0, open.length, ...open.filter((one) => one !== worker)),
    };
  },
  async admit(_opener, server) {
    const count = await server.ask({});
    return count === 3 ? { code: "CAPACITY_REACHED", message: "two sessions on all workers" } : undefined;
  },
});
`;
const AUDIT = `import { appendFileSync } from "node:fs";
import { definePlugin, text } from "openenv-ts/plugin";
export default definePlugin({
  name: "audit",
  settings: { file: { kind: text, fallback: "audit.jsonl" } },
  session: (_session, _opener, { settings, worker }) => ({
    record: ({ type }) => appendFileSync(settings.file, JSON.stringify({ type, worker }) + "\\n"),
  }),
});
`;
const CLOSED = `export default { name: "closed", authorize: () => ({ code: "FORBIDDEN", message: "closed" }) };
`;

const QUOTA = join(import.meta.dirname, "../../../../examples/plugin-quota/quota.ts");
/** Writes a line for each session, with the process that has it. */
const PLACES = `import { appendFileSync } from "node:fs";
export default {
  name: "places",
  session: () => appendFileSync("places.txt", process.pid + "\\n"),
};
`;
/** Fails outside of its hooks: in the supervisor at the start, and in the worker after a step. */
const LATER = `export default {
  name: "later",
  central() {
    setTimeout(() => Promise.reject(new Error("a rejection in the supervisor")));
    setTimeout(() => { throw new Error("an exception in the supervisor"); });
    return { answer: () => "still here" };
  },
  session: () => ({
    record({ request }) {
      if (request.amount === 1) setTimeout(() => Promise.reject(new Error("a rejection in the worker")));
      if (request.amount === 2) setTimeout(() => { throw new Error("an exception in the worker"); });
    },
  }),
  routes: { "/later": { GET: async (_request, { server }) => new Response(await server.ask({})) } },
};
`;

/** Opens a session that stays open. */
async function reset(url: string): Promise<TestSocket> {
  const socket = await openTestSocket(`${url}/ws`);
  expect(await socket.ask({ type: "reset" })).toMatchObject({ type: "observation" });
  return socket;
}

test("--plugin loads plugins in TypeScript in each worker, and what they share in the supervisor", async () => {
  await using project = await createProject({
    "environment.ts": counterModule(),
    "audit.ts": AUDIT,
    "count.ts": COUNT,
  });
  const args = ["serve", "--port", "0", "--workers", "2", "--plugin", "audit.ts", "--plugin", "count.ts"];
  await using running = startCommand(args, { cwd: project.dir, env: { OPENENV_AUDIT_FILE: "events.jsonl" } });
  const [, url = ""] = await running.printed(URL_LINE);
  await reset(url);
  await reset(url);
  await using third = await openTestSocket(`${url}/ws`);
  expect(await third.receive()).toMatchObject({ type: "error", data: { code: "CAPACITY_REACHED" } });
  const lines = (await readFile(join(project.dir, "events.jsonl"), "utf8")).trim().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(["reset", "reset"]);
});

test("a quota over two workers is given back by a worker that is killed", async () => {
  await using project = await createProject({
    "environment.ts": counterModule(),
    "places.ts": PLACES,
    "quota.ts": await readFile(QUOTA, "utf8"),
  });
  const args = ["serve", "--port", "0", "--workers", "2", "--plugin", "quota.ts", "--plugin", "places.ts"];
  await using running = startCommand(args, { cwd: project.dir, env: { OPENENV_QUOTA_SESSIONS: "2" } });
  const [, url = ""] = await running.printed(URL_LINE);
  const refused = async () => {
    await using socket = await openTestSocket(`${url}/ws`);
    return await socket.receive();
  };
  const first = await reset(url);
  await reset(url);
  expect(await refused()).toMatchObject({ type: "error", data: { code: "CAPACITY_REACHED" } });
  const [pid, other] = (await readFile(join(project.dir, "places.txt"), "utf8")).trim().split("\n");
  process.kill(Number(pid), "SIGKILL");
  await first.closed;
  await running.printed(/a worker exited/);
  for (let lost = pid === other ? 2 : 1; lost > 0; lost--) await reset(url);
  expect(await refused()).toMatchObject({ type: "error", data: { code: "CAPACITY_REACHED" } });
});

test("a plugin that fails outside of its hooks ends neither the server nor a session, but an exception its worker", async () => {
  await using project = await createProject({ "environment.ts": counterModule(), "later.ts": LATER });
  const args = ["serve", "--port", "0", "--workers", "2"];
  await using running = startCommand([...args, "--plugin", "later.ts"], { cwd: project.dir });
  const [, url = ""] = await running.printed(URL_LINE);
  await running.printed(/a rejection in the supervisor/);
  await running.printed(/an exception in the supervisor/);
  expect(await (await fetch(`${url}/later`)).text()).toBe("still here");
  await using socket = await reset(url);
  const step = (amount: number) => socket.ask({ type: "step", data: { amount } });
  expect(await step(1)).toMatchObject({ type: "observation", data: { observation: { count: 1 } } });
  await running.printed(/a rejection in the worker/);
  expect(await step(2)).toMatchObject({ type: "observation", data: { observation: { count: 3 } } });
  await socket.closed;
  await running.printed(/a worker exited; starting a new one/);
  await using next = await reset(url);
  expect(await next.ask({ type: "state" })).toMatchObject({ data: { step_count: 0 } });
});

test.each([
  [
    "that throws at its start",
    'export default { name: "broken", start: () => { throw new Error("no disk"); } };',
    /The plugin "broken" failed to start: no disk/,
  ],
  ["without a default export", "export const plugin = {};", /plugin\.ts has no plugin: export one as default/],
  ["that is none", "export default { title: 3 };", /The name of a plugin must have lower-case letters/],
])("a plugin %s stops the start", async (_what, code, message) => {
  await using project = await createProject({ "environment.ts": counterModule(), "plugin.ts": code });
  const args = ["serve", "--port", "0", "--plugin", "plugin.ts"];
  const { code: exit, stderr } = await callCommand(args, { cwd: project.dir });
  expect(stderr).toMatch(message);
  expect(exit).toBe(2);
});

test("a manifest names plugins only with --allow-plugins", async () => {
  await using project = await createProject({
    "environment.ts": counterModule(),
    "openenv.yaml": MANIFEST,
    "plugins/closed.ts": CLOSED,
  });
  const { code, stderr } = await callCommand(["serve", "--port", "0"], { cwd: project.dir });
  expect(stderr).toMatch(/openenv\.yaml names plugins \(plugins\/closed\.ts\).*--allow-plugins/);
  expect(code).toBe(2);
  await using running = startCommand(["serve", "--port", "0", "--allow-plugins"], { cwd: project.dir });
  const [, url = ""] = await running.printed(URL_LINE);
  expect((await fetch(`${url}/schema`)).status).toBe(403);
});
