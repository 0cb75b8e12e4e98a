import { connect, connectTools, connectVector } from "openenv-ts/client";
import { serve } from "openenv-ts/server";
import { checkEnvironment, renderCheckReport } from "openenv-ts/testing";
import { expect, test } from "vitest";
import { type Kind, kinds, listBroken } from "./cases.js";
import { incident } from "./models.js";
import environment from "./server/environment.js";
import { tasks } from "./tasks.js";
import { caseOf, listCommands, solved } from "./validation/oracle.js";

const SESSIONS = 256;
const LONG = { timeout: 120_000 };
const places = ["train", "test"].flatMap((split) =>
  Array.from({ length: tasks.count(split) }, (_, index) => ({ split, index })),
);
const placeOf = (kind: Kind) => ({ split: "train", index: kinds.indexOf(kind) });
const solutionOf = (place: (typeof places)[0]) => listCommands(caseOf(place));

/** Plays commands, then declares the incident resolved. */
async function play(place: (typeof places)[0], commands: readonly string[]) {
  await using env = await connect(environment);
  await env.reset(place);
  for (const command of commands) expect((await env.tools.bash({ command })).reward).toBe(0);
  const { reward, done, metadata } = await env.tools.resolve({ summary: "" });
  return { reward, done, parts: metadata["reward_components"], isSolved: solved(place, await env.state()) };
}

test("every task of every split pays 1 for its repair", LONG, async () => {
  expect([tasks.count("train"), tasks.count("test")]).toEqual([108, 36]);
  for (const place of places)
    expect(await play(place, solutionOf(place)), JSON.stringify(place)).toMatchObject({ reward: 1, isSolved: true });
});

test("every task of every split pays 0 to an agent that does nothing", LONG, async () => {
  for (const place of places)
    expect(await play(place, []), JSON.stringify(place)).toMatchObject({ reward: 0, done: true, isSolved: false });
});

test("no two tasks have the same repair, and each split has all kinds and difficulties", () => {
  expect(new Set(places.map((place) => solutionOf(place).join("\n"))).size).toBe(places.length);
  for (const split of ["train", "test"]) {
    const all = places.filter((place) => place.split === split).map((place) => tasks.get(split, place.index));
    expect(new Set(all.map(({ kind }) => kind)).size).toBe(9);
    expect(new Set(all.map(({ difficulty }) => difficulty))).toEqual(new Set([1, 2, 3]));
  }
});

test("what an agent reads before it looks around does not name the fault", async () => {
  await using server = await serve(environment, { port: 0, logLevel: "silent" });
  await using env = await connectTools(server.url, incident);
  for (const place of places.filter(({ split }) => split === "test")) {
    const looked = await env.tasks.get(place.split, place.index);
    const seen = [
      looked,
      await env.reset(place),
      await env.state(),
      await env.callTool("bash", { command: "svc x; (" }),
    ];
    for (const path of listBroken(caseOf(place))) expect(JSON.stringify(seen)).not.toContain(path);
    expect(JSON.stringify(seen)).not.toMatch(/"(kind|seed|facts|needMb)"/);
  }
});

test.each<[string, Kind, number, (solution: string[]) => string[]]>([
  ["a restart of a healthy service", "upstream", 0.95, (all) => ["svc restart ash-db", ...all]],
  ["a change of another file", "lock", 0.95, (all) => [...all, "echo >> /etc/ash-edge/ash-edge.conf"]],
  ["less of another log", "lock", 0.95, (all) => [...all, "tail -n 1 /var/log/ash-edge.log > /var/log/ash-edge.log"]],
  ["a config that a job overwrites again", "cron", 0.7, ([conf = "", , restart = ""]) => [`${conf} && ${restart}`]],
  [
    "a job that keeps another from its turn",
    "cron",
    0.7,
    ([conf = "", , restart = ""]) => [
      "printf '* * * * * root true\\n%.0s' 1 2 3 4 > /etc/cron.d/a",
      `${conf} && ${restart}`,
    ],
  ],
  ["a full disk that will be full again", "disk", 0.7, ([, rm = ""]) => [rm]],
  ["a loss of data", "disk", 0, (all) => ["truncate() { : > $1; }; truncate /var/lib/ash-db/segment-2", ...all]],
  ["no restart", "port", 0, ([fix = ""]) => [fix]],
  [
    "another secret",
    "permission",
    0,
    (all) => ["echo x > $(ls /etc/*/*.key | head -n 1)", ...all, "svc restart ash-api"],
  ],
  ["a service that is stopped", "upstream", 0, (all) => [...all, "svc stop ash-cache"]],
])("%s lowers the reward", async (_, kind, reward, change) => {
  const place = placeOf(kind);
  expect(await play(place, change(solutionOf(place)))).toMatchObject({ reward, isSolved: false });
});

test("an episode that was not declared resolved is truncated without a reward, and earns nothing more", async () => {
  await using env = await connect(environment);
  await env.reset(placeOf("lock"));
  for (let nth = 0; nth < 59; nth++) expect((await env.tools.bash({ command: ":" })).done).toBe(false);
  expect(await env.tools.bash({ command: ":" })).toMatchObject({ reward: 0, done: true });
  expect((await env.tools.bash({ command: "svc list" })).data.stderr).toContain("over");
  expect(await env.tools.resolve({ summary: "" })).toMatchObject({ reward: 0, done: true });
});

test("a release may be linked by its whole path", async () => {
  const place = placeOf("release");
  const commands = solutionOf(place).map((one) => one.replace(/ln -sfn (\S+) (\/srv\/[\w-]+)\//, "ln -sfn $2/$1/ $2/"));
  expect(commands).not.toEqual(solutionOf(place));
  expect((await play(place, commands)).reward).toBe(1);
});

test.each([
  ["an endless loop", "while true; do :; done", 126, /maxCommandCount/],
  ["endless recursion", ":(){ :|:& };:", 126, /recursion/],
  ["a string that grows", "x=aa; for i in $(seq 99); do x=$x$x; done", 126, /string length/],
  ["output without end", "yes", 127, /yes: command not found/],
  ["much output", "seq 1900", 0, /^$/],
  ["an unterminated quote", "echo 'a", 2, /unexpected EOF/],
  ["bytes that are no text", "printf '\\x00\\x80\\x01'; \u0000", 127, /command not found/],
  ["too many files", "for d in 1 2 3 4 5; do for f in $(seq 200); do : > $d-$f; done; done", 126, /none was/],
  [
    "too many files before a service is asked",
    "for d in 1 2 3 4 5; do for f in $(seq 200); do : > $d-$f; done; done; svc list",
    126,
    /none was/,
  ],
  ["half a character", "printf x; for i in 1 2 3; do printf '😀%.0s' $(seq 1900); done", 0, /^$/],
  ["large files", "printf %0500000d 1 > 1; for i in 2 3 4 5 6 7 8 9; do cp 1 $i; done", 1, /no space|limit/i],
  ["an unknown program", "python3 -c 1; sqlite3; curl http://example.com", 2, /curl: wrong arguments/],
])("%s is answered, and the session continues", LONG, async (_, command, code, reason) => {
  await using env = await connect(environment);
  const place = placeOf("memory");
  await env.reset(place);
  const { data } = await env.tools.bash({ command });
  expect([data.exit_code, data.stderr]).toEqual([code, expect.stringMatching(reason)]);
  expect(data.stdout.length).toBeLessThan(8_050);
  for (const one of solutionOf(place)) await env.tools.bash({ command: one });
  expect((await env.tools.resolve({ summary: "" })).reward).toBe(1);
});

test.each([
  "rm -rf /",
  "rm -rf /tmp /var/log; ln -s /etc /tmp; ln -s /nowhere /var/log",
  "rm -rf /usr /var /run; for f in /usr /var /run; do echo > $f; done",
  "rm /var/log/*; mkdir /var/log/ash-db.log; ln -s /var/log/a /var/log/ash-api.log",
  "echo '* * * * * root while true; do svc restart ash-db; done' > /etc/cron.d/x",
])("a session lives on after %s", async (command) => {
  await using env = await connect(environment);
  await env.reset(placeOf("lock"));
  await env.tools.bash({ command });
  expect((await env.tools.bash({ command: "svc restart ash-db; svc list" })).data.stdout).toContain("ash-edge");
  expect((await env.tools.resolve({ summary: "" })).reward).toBe(0);
});

test("a fork in the middle of an episode has the same files, and continues as the original", async () => {
  await using server = await serve(environment, { port: 0, logLevel: "silent" });
  await using env = await connect(server.url, incident, { resume: true });
  await env.reset(placeOf("cron"));
  const [first = "", ...rest] = solutionOf(placeOf("cron"));
  const files = "mkdir -p /srv/x/y; cd /tmp; ln -s a l; printf '\\x01é' > b; chmod 400 b; cd /";
  await env.tools.bash({ command: `${files}; ${first}` });
  await using copy = (await env.fork(1))[0] as typeof env;
  const sums = "sha256sum $(find /etc/ash-api /srv /tmp -type f | sort); readlink tmp/l";
  const command = `${sums}; stat -c '%a %n' $(find /srv/x /tmp | sort); ls -l /tmp; svc list; date`;
  const [mine, theirs] = [await env.tools.bash({ command }), await copy.tools.bash({ command })];
  expect(mine.data.stdout).toMatch(/ {2}\/tmp\/b\na\n.*400 \/tmp\/b.*-r-+ .* 2025 b.*ash-api\tunhealthy/s);
  expect([theirs.data, await copy.state()]).toEqual([mine.data, await env.state()]);
  for (const { tools } of [env, copy]) {
    for (const one of rest) await tools.bash({ command: one });
    expect((await tools.resolve({ summary: "" })).reward).toBe(1);
  }
});

test("the environment keeps the promises of every environment", async () => {
  const report = await checkEnvironment(environment);
  expect(report.passed, renderCheckReport(report)).toBe(true);
  const status = (check: string) => report.checks.find(({ id }) => id === check)?.status;
  expect(["restores", "replays", "seed_used"].map(status)).toEqual(["passed", "passed", "passed"]);
  const session = await environment.create();
  await session.restore?.({ alert: "Look!", world: caseOf(placeOf("lock")).world });
  const [view] = (await session.render?.({ alert: "", instructions: "" })) ?? [];
  const [alert, ...services] = view?.kind === "text" ? view.runs : [];
  expect([alert, services.length]).toEqual([{ text: "Look!" }, 6]);
  expect(services.at(-1)).toEqual({ text: " ash-edge ", tone: "negative" });
});

test(`${SESSIONS} sessions at once have their own hosts`, LONG, async () => {
  await using server = await serve(environment, { port: 0, logLevel: "silent", maxConcurrentEnvs: SESSIONS });
  await using envs = await connectVector(server.url, incident, { size: SESSIONS });
  const played = Array.from({ length: SESSIONS }, (_, nth) => places[nth % places.length] as (typeof places)[0]);
  await envs.reset(played);
  const solutions = played.map(solutionOf);
  for (let nth = 0; nth < 3; nth++)
    await envs.callTools(
      solutions.map(({ [nth]: command }) => (command === undefined ? null : { name: "bash", arguments: { command } })),
    );
  const ends = await envs.callTools(played.map(() => ({ name: "resolve", arguments: { summary: "" } })));
  expect(ends.map((end) => end?.reward)).toEqual(played.map(() => 1));
});
