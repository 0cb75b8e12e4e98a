import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import {
  callCommand,
  counterModule,
  createProject,
  startCommand,
} from "../../../../test-support/commands/command-line.js";

/** Each starts several processes, one after the other. */
vi.setConfig({ testTimeout: 90_000 });

/** The counter with one more required action field: clients of the first version break. */
const stricter = counterModule().replace("amount: z.int()", "amount: z.int(), unit: z.string()");
/** The counter with one more field to read: nobody breaks. */
const richer = counterModule().replace("count: z.int()", "count: z.int(), hint: z.string().optional()");

test("show prints what GET /schema answers", async () => {
  await using project = await createProject({ "environment.ts": counterModule() });
  await using server = startCommand(["serve", "--port", "0"], { cwd: project.dir });
  const [, url = ""] = await server.printed(/at (http:\S+)/);
  const answered = await (await fetch(`${url}/schema`)).json();
  for (const source of ["environment.ts", url, `${url.replace("http", "ws")}/ws`, `${url}/`]) {
    const { code, stdout } = await callCommand(["schema", "show", source], { cwd: project.dir });
    expect(JSON.parse(stdout)).toEqual(answered);
    expect(code).toBe(0);
  }
});

test("diff exits with 1 and names the field when something breaks", async () => {
  await using project = await createProject({ "before.ts": counterModule(), "after.ts": stricter });
  const { code, stdout } = await callCommand(["schema", "diff", "before.ts", "after.ts"], { cwd: project.dir });
  expect(stdout).toMatch(/^breaks {2}action.*unit/m);
  expect(code).toBe(1);
});

test("diff exits with 0 when nothing breaks", async () => {
  await using project = await createProject({ "before.ts": counterModule(), "after.ts": richer });
  const changed = await callCommand(["schema", "diff", "before.ts", "after.ts"], { cwd: project.dir });
  expect(changed.stdout).toMatch(/^ {8}observation.*hint/m);
  expect(changed.code).toBe(0);
  const same = await callCommand(["schema", "diff", "before.ts", "before.ts"], { cwd: project.dir });
  expect(same).toEqual({ code: 0, stdout: "The schemas are the same.\n", stderr: "" });
});

test("diff takes a stored answer and prints JSON", async () => {
  await using project = await createProject({ "environment.ts": stricter, "old.ts": counterModule() });
  const shown = await callCommand(["schema", "show", "old.ts"], { cwd: project.dir });
  await project.write("schema.json", shown.stdout);
  const { stdout, code } = await callCommand(["schema", "diff", "schema.json", ".", "--json"], { cwd: project.dir });
  expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ part: "action", breaking: true }));
  expect(code).toBe(1);
});

test.each([
  ["missing.json", /There is no file or folder missing\.json; check/],
  ["broken.json", /broken\.json is not JSON; give what GET \/schema/],
  ["other.json", /other\.json lacks action, observation or state; give/],
  ["ftp://example.org", /ftp:\/\/example\.org is no URL of a server; write http/],
  ["http://127.0.0.1:1", /No answer from http:\/\/127\.0\.0\.1:1\/schema \(.*\); check that the server runs/],
])("%s is an input that cannot be read: one line, exit code 2", async (source, message) => {
  await using project = await createProject({ "broken.json": "{", "other.json": '{ "action": {} }' });
  const { code, stdout, stderr } = await callCommand(["schema", "show", source], { cwd: project.dir });
  expect(stderr).toMatch(message);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
});

test("a server of another kind is an input that cannot be read", async () => {
  await using project = await createProject();
  const server = createServer((_request, response) => response.writeHead(404).end()).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code, stderr } = await callCommand(["schema", "show", url], { cwd: project.dir });
  expect(stderr).toBe(`error: ${url}/schema answered 404; give the base URL of an OpenEnv server.\n`);
  expect(code).toBe(2);
  server.close();
});
