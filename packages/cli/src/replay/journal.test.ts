import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rename, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  callCommand,
  createProject,
  type Project,
  type Running,
  runCommand,
  startCommand,
} from "../../../../test-support/commands/command-line.js";
import { diceModule, playDice } from "../../../../test-support/journals/dice.js";
import { JOURNAL_MODULE } from "../../../../test-support/journals/file-journal.js";
import { connect, connectVector } from "../../../openenv/src/client/index.js";

/** Servers are started as processes. */
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

let project: Project;
let url = "";
let session = "";
const close: AsyncDisposable[] = [];
const replay = (...args: string[]) => callCommand(["replay", ...args], { cwd: project.dir });
const serve = async (module: string, journal: string): Promise<[Running, string]> => {
  const args = ["serve", module, "--port", "0", "--journal", journal];
  const running = startCommand(args, { cwd: project.dir });
  close.push(running);
  return [running, (await running.printed(/at (http:\S+)/))[1] as string];
};
const EQUAL = "1 episodes, 5 events: all equal\n";
const digestOf = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
/** Everything in the folder of the journal, and what the environments did outside. */
const contents = async () => {
  const names = (await readdir(join(project.dir, "journals"))).sort();
  const files = names.map(async (name) => {
    const path = join(project.dir, "journals", name);
    // A server writes a sign of life into its file.
    return name.startsWith("dice.db") ? [name] : [name, await digestOf(path)];
  });
  return [...(await Promise.all(files)), await readFile(join(project.dir, "effects"), "utf8")];
};

beforeAll(async () => {
  project = await createProject({
    "environment.ts": diceModule(),
    "loaded.ts": diceModule("rng.int(1, 6) + 1"),
    "saved.ts": diceModule(undefined, { saves: true }),
    effects: "",
  });
  await mkdir(join(project.dir, "journals"));
  [, url] = await serve("environment.ts", "journals/dice.db");
  const played = await playDice(url);
  close.push(played.socket);
  session = played.id;
});
afterAll(async () => {
  for (const one of close.reverse()) await one[Symbol.asyncDispose]();
  await project?.[Symbol.asyncDispose]();
});

describe("openenv replay of a journal in a file", () => {
  test("finds that an environment gives the recorded answers, and changes nothing while a server uses it", async () => {
    const before = await contents();
    expect(await replay("journals/dice.db")).toEqual({ code: 0, stdout: EQUAL, stderr: "" });
    expect(await contents()).toEqual(before);
  });

  test("plays a file by any name, after its server has ended", async () => {
    const [running, place] = await serve("environment.ts", "ended.db");
    await (await playDice(place)).socket[Symbol.asyncDispose]();
    await running[Symbol.asyncDispose]();
    await mkdir(join(project.dir, "ended"));
    for (const suffix of ["", "-wal"]) {
      await rename(join(project.dir, `ended.db${suffix}`), join(project.dir, `ended/of-ci${suffix}`)).catch(() => {});
    }
    const before = await digestOf(join(project.dir, "ended/of-ci"));
    expect(await replay("ended/of-ci")).toEqual({ code: 0, stdout: EQUAL, stderr: "" });
    expect(await digestOf(join(project.dir, "ended/of-ci"))).toBe(before);
  });

  test.each([
    ["rng.int(1, 6) + 1", "total + plus", `event 4 (step): observation.total was`, 2],
    ["rng.int(1, 6)", "total - plus", `event 6 (tool): result was`, 4],
  ])("names the first difference of a changed environment: %s, %s", async (amount, peek, difference, events) => {
    const changed = `changed-${events}.ts`;
    await project.write(changed, diceModule(amount).replace("total + plus", peek));
    const { code, stdout } = await replay("journals/dice.db", changed);
    expect(stdout).toContain(`session ${session}, ${difference}`);
    expect(stdout).toContain(`\n1 episodes, ${events} events: 1 differ\n`);
    expect(code).toBe(1);
    const { stdout: json } = await replay("journals/dice.db", changed, "--json");
    const [, event, kind, field] = /event (\d) \((\w+)\): (\S+)/.exec(difference) ?? [];
    expect(JSON.parse(json)).toMatchObject({
      differences: [{ session, difference: { event: Number(event), kind, field } }],
      skips: [],
    });
  });

  test("plays it on a server, with the random numbers and without what came from outside", async () => {
    const outside = ["at", "luck", "seed"].flatMap((name) => ["--ignore", `observation.${name}`]);
    expect(await replay("journals/dice.db", "--against", url, ...outside)).toMatchObject({ code: 0, stdout: EQUAL });
    const { code, stdout } = await replay("journals/dice.db", "--against", url);
    expect(stdout).toMatch(/event 3 \(reset\): observation\.(at|luck|seed) was/);
    expect(code).toBe(1);
  });

  test("skips sessions without events, with the reason", async () => {
    const [, saving] = await serve("saved.ts", "journals/saved.db");
    const saved = await playDice(saving);
    close.push(saved.socket);
    const reason =
      "its environment has snapshots: the journal has the state after event 7, and no events. Record its episodes with openenv collect to replay them";
    expect(await replay("journals/saved.db")).toEqual({
      code: 2,
      stdout: `session ${saved.id} is skipped: ${reason}\n0 episodes, 0 events: none could be compared; 1 skipped\n`,
      stderr: "",
    });
    expect(JSON.parse((await replay("journals/saved.db", "--json")).stdout)).toMatchObject({
      skipped: 1,
      skips: [{ session: saved.id, reason }],
    });
  });

  test("plays the sessions of a batch and of an address, and skips those that have ended", async () => {
    const [, batching] = await serve("environment.ts", "journals/batch.db");
    const ended = await connect(batching, { resume: true });
    await ended.reset();
    await ended.close();
    const envs = await connectVector(batching, { size: 3, resume: true });
    close.push(envs);
    await envs.reset();
    await envs.step([{}, {}, {}]);
    const address = `${batching}/session/0123456789abcdef`;
    for (const path of ["reset", "step"]) {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify(path === "reset" ? {} : { action: {} });
      expect((await fetch(`${address}/${path}`, { method: "POST", headers, body })).status).toBe(200);
    }
    // A client does not wait for the end of its session, nor for that of the sockets that look for other servers.
    await expect
      .poll(() => replay("journals/batch.db"))
      .toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^(?:session \S+ is skipped: it has ended: .+\n){1,5}4 episodes, 8 events: all equal; [1-5] skipped\n$/,
        ),
      });
    const { stdout: changed } = await replay("journals/batch.db", "loaded.ts");
    expect(new Set(changed.match(/session \S+, event 2 \(step\): observation\.total/g)).size).toBe(4);
  });
});

describe("a journal that cannot be replayed", () => {
  const write = (name: string, change: (path: string) => Promise<unknown>) => async () => {
    const path = join(project.dir, name);
    await copyFile(join(project.dir, "journals/dice.db"), path);
    await change(path);
  };

  test.each([
    ["missing.db", async () => {}, /^error: No such file: missing\.db\. Check the path\.$/],
    ["other.db", write("other.db", (path) => writeFile(path, "x".repeat(9000))), /: it is not a journal of sessions/],
    ["empty.db", write("empty.db", (path) => writeFile(path, "")), /: it is empty$/],
    ["old.db", write("old.db", (path) => writeFile(`${path}-boot`, "an earlier one")), /: parts of it may be missing/],
    ["damaged.db", () => damaged("damaged.db"), /^error: The journal is damaged: session s cannot be read: /],
    ["cut.db", write("cut.db", (path) => truncate(path, 16_384)), /: it is damaged \(.+\); delete it/],
    ["unused.db", unused, /^error: The journal has no sessions\.$/],
    [
      "redis://127.0.0.1:1",
      async () => {},
      /^error: The journal must be the address of a Redis that answers, not redis:/,
    ],
  ])("%s: one line, exit code 2", async (name, make, message) => {
    await make();
    const { code, stdout, stderr } = await replay(name);
    expect(stderr.trim()).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });

  test.each([
    ["journals/dice.db", /^error: A store in a file requires .+ npm install @photostructure\/sqlite@1\n$/],
    ["redis://127.0.0.1:1", /^error: A journal in Redis requires another package: npm install redis\n$/],
  ])("%s: names the package that is missing", async (name, message) => {
    if (!name.startsWith("redis:") && process.getBuiltinModule("node:sqlite") !== undefined) return;
    const resolve = `export const resolve = (name, context, next) => {
      if (/^(@photostructure|redis$)/.test(name)) throw new Error("Cannot find package");
      return next(name, context);
    };`;
    const hooks = `data:text/javascript,${encodeURIComponent(resolve)}`;
    const path = await project.write(
      "without.mjs",
      `import { register } from "node:module";\nregister(${JSON.stringify(hooks)});`,
    );
    const env = { NODE_OPTIONS: `--import ${pathToFileURL(path)}` };
    const { code, stdout, stderr } = await runCommand(["replay", name], { cwd: project.dir, env });
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(message) });
  });

  async function damaged(name: string): Promise<void> {
    const { openSqliteJournal } = await import(JOURNAL_MODULE);
    await using journal = await openSqliteJournal({ path: join(project.dir, name), durability: "process", owner: "o" });
    await journal.create("s", "hash");
    await journal.commit("s", 1, { put: [["image", Buffer.from([0xc1])]], remove: [] });
  }

  async function unused(): Promise<void> {
    const [running] = await serve("environment.ts", "unused.db");
    await running[Symbol.asyncDispose]();
  }
});
