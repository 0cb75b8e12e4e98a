import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  counterModule,
  createProject,
  type Project,
  startCommand,
} from "../../../../../test-support/commands/command-line.js";
import { silentLog } from "../../util/log.js";
import type { ServeOptions } from "../types.js";
import { noteContainer } from "./start-notes.js";

// Starting a process takes seconds on a machine with other work.
vi.setConfig({ testTimeout: 120_000 });

const PROGRAM = `
  import { serve } from "openenv-ts/server";
  import environment from "./environment.ts";
  const server = await serve(environment, JSON.parse(process.argv[2]));
  await server.close();
`;
const UNSET = { OPENENV_OPERATOR_TOKEN: "", OPENENV_ORCHESTRATOR_TOKEN: "", OPENENV_CLIENT_TOKEN: "" };
const CLOSED = /are closed: set OPENENV_OPERATOR_TOKEN/;
const NO_EFFECT = /OPENENV_ORCHESTRATOR_TOKEN has no effect in simulation mode/;
const NO_STORE = /OPENENV_VIEWER_TOKEN has no effect without a store: set OPENENV_STORE/;
const ANYBODY = /any client can reset, step and read the state: set OPENENV_ORCHESTRATOR_TOKEN/;
const NETWORK = /any client on the network can open sessions: set OPENENV_CLIENT_TOKEN/;

let project: Project;
beforeAll(async () => {
  project = await createProject({ "environment.ts": counterModule(), "app.ts": PROGRAM });
});
afterAll(() => project[Symbol.asyncDispose]());

test.each<[string, ServeOptions, RegExp[]]>([
  ["nothing is set", {}, [CLOSED]],
  ["all tokens that have an effect are set", { ...tokens(), mode: "production", host: "0.0.0.0" }, []],
  ["the orchestrator's token has no effect", tokens(), [NO_EFFECT]],
  ["the viewer's token has no effect", { viewerToken: "reads" }, [CLOSED, NO_STORE]],
  ["any client on the network can reset and step", { mode: "production", host: "0.0.0.0" }, [CLOSED, ANYBODY, NETWORK]],
])("serve() in a program logs at its start which access its settings allow: %s", async (_when, options, expected) => {
  const args = ["run", "app.ts", JSON.stringify({ port: 0, ...options })];
  await using running = startCommand(args, { cwd: project.dir, env: UNSET });
  expect(await running.exited).toBe(0);
  const lines = running.stderr.split("\n").filter((line) => /OPENENV_\w+_TOKEN/.test(line));
  expect(lines).toEqual(expected.map((text) => expect.stringMatching(text)));
  for (const token of Object.values(tokens())) expect(running.stderr).not.toContain(token);
});

function tokens() {
  return { operatorToken: "operates", orchestratorToken: "drives", clientToken: "plays" };
}

test.each([
  [4, 100, true, "the container has room for 400 sessions: docker run -e MAX_CONCURRENT_ENVS"],
  [8, 512, true, "docker run -p may end all connections for good at 4096"],
  [8, 512, false, ""],
])("%s workers with %s sessions each, in a container: %s", (workers, maxConcurrentEnvs, isContainer, message) => {
  const said: string[] = [];
  const note = (_fields: object, text: string): void => void said.push(text);
  noteContainer({ workers, maxConcurrentEnvs }, { ...silentLog, info: note, warn: note }, isContainer);
  expect(said.join("")).toContain(message);
  expect(said).toHaveLength(isContainer ? 1 : 0);
});
