import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject, startCommand } from "../../../../../test-support/commands/command-line.js";
import { askEachWorker, until, WHERE } from "../../../../../test-support/servers/cluster.js";
import { openTestSocket } from "../../../../../test-support/sockets/socket.js";
import { readSettings, readTokens } from "./read-settings.js";

const NAMES = ["OPENENV_CLIENT_TOKEN", "OPENENV_OPERATOR_TOKEN", "OPENENV_ORCHESTRATOR_TOKEN"] as const;
const OPTIONS = ["clientToken", "operatorToken", "orchestratorToken"] as const;

test.each(NAMES.map((name, index) => [name, OPTIONS[index] as (typeof OPTIONS)[number]] as const))(
  "%s comes from the option, the variable or the file, and errors do not contain it",
  async (name, option) => {
    await using project = await createProject({ secret: "from a file\n", empty: " \n" });
    const file = `${name}_FILE`;
    const path = (base: string) => join(project.dir, base);
    expect(readTokens({}, {})[option]).toBeUndefined();
    expect(readTokens({}, { [name]: " " })[option]).toBeUndefined();
    expect(readTokens({}, { [name]: "from a variable" })[option]).toBe("from a variable");
    expect(readTokens({}, { [file]: path("secret") })[option]).toBe("from a file");
    expect(readTokens({ [option]: "given" }, { [file]: path("secret"), [name]: "x" })[option]).toBe("given");
    for (const [variables, problem] of [
      [{ [file]: path("secret"), [name]: "hidden" }, "both set"],
      [{ [file]: path("gone") }, "readable file"],
      [{ [file]: path("empty") }, "is empty"],
    ] as const) {
      const read = () => readTokens({}, variables);
      expect(read).toThrow(expect.objectContaining({ code: "INVALID_CONFIG" }));
      expect(read).toThrow(new RegExp(`${file}.*${problem}`));
      expect(read).not.toThrow("hidden");
    }
    expect(() => readTokens({ [option]: " " }, {})).toThrow(name);
  },
);

test("the address of the journal may come from a file, as the tokens do", async () => {
  await using project = await createProject({ url: "redis://:secret@host:6379\n" });
  const JOURNAL_FILE = join(project.dir, "url");
  expect(readSettings({}, { JOURNAL_FILE }).journal).toBe("redis://:secret@host:6379");
  expect(readSettings({ journal: "memory" }, { JOURNAL_FILE }).journal).toBe("memory");
  expect(() => readSettings({}, { JOURNAL_FILE, JOURNAL: "memory" })).toThrow(/JOURNAL and JOURNAL_FILE are both set/);
  expect(() => readSettings({}, { JOURNAL_FILE: `${JOURNAL_FILE}.gone` })).toThrow(/JOURNAL_FILE must name a readable/);
});

const bearer = (token: string) => ({ connection: "close", authorization: `Bearer ${token}` });
/** Enough requests, each on a separate connection, to reach every worker. */
const TRIES = 12;

test.each(["1", "2"])(
  "SIGHUP reads the files again with %s workers, and sessions have SHUTDOWN_DRAIN to finish",
  { timeout: 180_000 },
  async (workers) => {
    await using project = await createProject({
      "environment.mjs": WHERE,
      client: "old",
      operator: "op-old",
      driver: "dr-old",
    });
    const path = (base: string) => join(project.dir, base);
    await using command = startCommand(["serve", "environment.mjs", "--port", "0"], {
      cwd: project.dir,
      env: {
        WORKERS: workers,
        SHUTDOWN_DRAIN: "60",
        OPENENV_MODE: "production",
        OPENENV_CLIENT_TOKEN_FILE: path("client"),
        OPENENV_OPERATOR_TOKEN_FILE: path("operator"),
        OPENENV_ORCHESTRATOR_TOKEN_FILE: path("driver"),
      },
    });
    const [, url = ""] = await command.printed(/at (http:\S+)/);
    const status = async (token: string, route: string) =>
      (await fetch(url + route, { headers: bearer(token) })).status;
    const statuses = async (token: string, route = "/schema") =>
      new Set(await Promise.all(Array.from({ length: TRIES }, () => status(token, route))));
    const only = (code: number) => new Set([code]);
    /** The types of the answers to a reset, over several connections with this token. */
    const resets = async (token: string) => {
      const reset = async () => {
        await using peer = await openTestSocket(`${url}/ws`, { headers: bearer(token) });
        return (await peer.ask({ type: "reset" }))["type"];
      };
      return new Set(await Promise.all(Array.from({ length: TRIES }, reset)));
    };
    expect(await statuses("old")).toEqual(only(200));
    expect(await statuses("op-old", "/sessions")).toEqual(only(200));
    expect(await resets("old")).toEqual(new Set(["error"]));
    expect(await resets("dr-old")).toEqual(new Set(["observation"]));
    await using socket = await openTestSocket(`${url}/ws`, { headers: bearer("dr-old") });
    expect(await socket.ask({ type: "reset" })).toMatchObject({ type: "observation" });

    await writeFile(path("client"), "new\n");
    await writeFile(path("operator"), "op-new\n");
    await writeFile(path("driver"), "dr-new\n");
    command.process.kill("SIGHUP");
    await until(async () => {
      const answers = await askEachWorker(url, "/schema", bearer("old"));
      return answers.every((answer) => answer.status === 401);
    });
    expect(await statuses("new")).toEqual(only(200));
    expect(await statuses("op-new", "/sessions")).toEqual(only(200));
    expect(await statuses("op-old", "/sessions")).toEqual(only(401));
    expect(await statuses("dr-old")).toEqual(only(401));
    expect(await resets("dr-new")).toEqual(new Set(["observation"]));
    expect(await resets("new")).toEqual(new Set(["error"]));
    // A connection keeps the rights that it was opened with.
    expect(await socket.ask({ type: "step", data: { amount: 2 } })).toMatchObject({ data: { reward: 2 } });

    if (workers === "1") {
      await rm(path("client"));
      command.process.kill("SIGHUP");
      await command.printed(/could not reload the tokens/);
      expect(await statuses("new")).toEqual(only(200));
      expect(await socket.ask({ type: "step", data: { amount: 2 } })).toMatchObject({ data: { reward: 4 } });
    }
    const said = command.stdout + command.stderr;
    for (const secret of ["op-old", "op-new", "dr-old", "dr-new"]) expect(said).not.toContain(secret);
  },
);
