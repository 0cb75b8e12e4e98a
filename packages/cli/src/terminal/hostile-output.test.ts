/** What a hostile server says, in the terminal of the one who asks it. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  callCommand,
  createProject,
  type Project,
  type Running,
  startCommand,
} from "../../../../test-support/commands/command-line.js";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

/** Sets the title, clears the screen, moves back, colors, with one-byte controls too, and reverses what follows. */
const HOSTILE = "\u001b]0;title\u0007\u001b[2J\rover\b\u007f\u009b31m\u0090q\u202egpj.exe\u2066\u200f";
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

const MODULE = `
  import { defineContract, defineEnvironment, EnvironmentError } from "openenv-ts";
  import * as z from "zod";
  const hostile = ${JSON.stringify(HOSTILE)};
  const contract = defineContract({
    name: "hostile_env",
    description: hostile,
    action: z.object({ [hostile]: z.enum([hostile]).optional() }),
    observation: z.object({ [hostile]: z.string() }),
  });
  const fail = () => { throw new EnvironmentError(hostile); };
  export default defineEnvironment(contract, () => ({ reset: fail, step: fail }));
`;

let project: Project;
let server: Running;
let url = "";
beforeAll(async () => {
  project = await createProject({ "hostile/environment.js": MODULE, "plain.json": PLAIN });
  server = startCommand(["serve", "hostile", "--port", "0"], { cwd: project.dir });
  url = (await server.printed(/at (http:\/\/127\.0\.0\.1:\d+)/))[1] ?? "";
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await project[Symbol.asyncDispose]();
});

const OBJECT = { type: "object", properties: {} };
const PLAIN = JSON.stringify({ action: OBJECT, observation: OBJECT, state: OBJECT });

test.each([
  ["schema diff", () => ["schema", "diff", "plain.json", url]],
  ["schema show", () => ["schema", "show", url]],
  ["validate", () => ["validate", "--url", url, "--sessions", "2"]],
  ["collect", () => ["collect", url, "-n", "1", "-o", "episodes.jsonl"]],
])("openenv %s prints it as escapes that a terminal does not obey", async (_, args) => {
  const { stdout, stderr } = await callCommand(args(), { cwd: project.dir });
  const output = stdout + stderr;
  expect(output).toContain("\\u001b]0;title\\u0007");
  expect(output).toContain("\\u202e");
  expect(UNSAFE.exec(output)).toBeNull();
});

test("JSON stays JSON, and says the same", async () => {
  const { stdout } = await callCommand(["schema", "diff", "plain.json", url, "--json"], { cwd: project.dir });
  expect(UNSAFE.exec(stdout)).toBeNull();
  expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(HOSTILE).slice(1, -1));
});
