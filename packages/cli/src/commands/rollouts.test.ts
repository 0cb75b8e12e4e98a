import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { callCommand, createProject, type Project } from "../../../../test-support/commands/command-line.js";
import { AS_OPERATOR, fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { useServers } from "../../../../test-support/servers/servers.js";
import { EPISODE_FORMAT, parseEpisode } from "../../../openenv/src/protocol/index.js";
import type { EpisodeRow, PreferencePair, RolloutDetail, RolloutPage } from "../../../openenv/src/protocol/rollouts.js";
import type { RunningServer } from "../../../openenv/src/server/types.js";

vi.setConfig({ testTimeout: 60_000 });

const { start, open } = useServers();
let project: Project;
beforeAll(async () => {
  project = await createProject();
});
afterAll(() => project[Symbol.asyncDispose]());

/** Plays an episode, and returns its public name. */
async function play(server: RunningServer, seed: number, ...amounts: number[]): Promise<string> {
  await using socket = await open(server);
  await socket.ask({ type: "reset", data: { seed, start: seed } });
  for (const amount of amounts) await socket.ask({ type: "step", data: { amount } });
  socket.ws.close();
  const q = encodeURIComponent(`seed:${seed} reward:${amounts.reduce((sum, amount) => sum + amount)} outcome:done`);
  const rows = async () =>
    ((await (await fetchAsOperator(`${server.url}/rollouts?q=${q}`)).json()) as RolloutPage<EpisodeRow>).rows;
  await expect.poll(async () => (await rows()).length, { timeout: 20_000 }).toBe(1);
  return (await rows())[0]?.id as string;
}

test("episodes go through files of both forms into other stores, and are deleted", async () => {
  const server = await start({ store: join(project.dir, "first"), ...WITH_OPERATOR });
  const [short, long] = [await play(server, 2, 5, 40), await play(server, 1, 2, 3, 30)];
  const run = async (code: number, name: string, ...args: string[]) => {
    const done = await callCommand(["rollouts", name, ...args], { cwd: project.dir });
    expect(done).toMatchObject({ code });
    return done;
  };
  const rowsOf = async (store: string): Promise<EpisodeRow[]> =>
    JSON.parse((await run(0, "ls", "--store", store, "--sort", "seed", "--json")).stdout);
  const eventsOf = async (store: string, { id }: Pick<EpisodeRow, "id">) => {
    const { events } = JSON.parse((await run(0, "show", id, "--store", store, "--json")).stdout) as RolloutDetail;
    return events.map(({ request, answer, reward }) => ({ request, answer, reward }));
  };
  const recorded = await rowsOf("first");
  expect(recorded.map(({ id }) => id)).toEqual([long, short]);
  expect((await run(0, "show", long, "--store", "first")).stdout).toMatch(/3 step · reward 30/);
  await run(0, "export", "--store", "first", "-o", "ours.jsonl");
  await run(0, "export", "--store", "first", "--to", "verifiers", "-o", "traces.jsonl");

  const ours = await readFile(join(project.dir, "ours.jsonl"), "utf8");
  expect(ours.trim().split("\n").map(parseEpisode)).toMatchObject([{ total_reward: 45 }, { total_reward: 35 }]);
  await project.write("bad.jsonl", `${ours}{"format":"${EPISODE_FORMAT}"}\n`);
  const bad = await run(2, "import", "bad.jsonl", "--store", "second");
  expect(bad.stderr).toMatch(/bad\.jsonl:3 is not an episode: "episode" is not a non-negative integer/);
  const added = await run(0, "import", "ours.jsonl", "--store", "second");
  expect(added.stdout).toBe("2 episodes were added to second\n");
  const kept = ({ seed, outcome, steps, reward, env, strip, startedAt }: EpisodeRow) => [
    ...[seed, outcome, steps, reward, env, strip, startedAt],
  ];
  // Durations that are no numbers do not make an episode unreadable.
  await project.write("odd.jsonl", ours.replaceAll(/"ms":[\d.e-]+/g, '"ms":NaN'));
  await run(0, "import", "odd.jsonl", "--store", "odd");
  for (const row of await rowsOf("odd")) expect((await eventsOf("odd", row)).length).toBe(row.steps + 1);
  const imported = await rowsOf("second");
  expect(imported.map(kept)).toEqual(recorded.map(kept));
  for (const [index, row] of recorded.entries()) {
    expect(await eventsOf("second", imported[index] as EpisodeRow)).toEqual(await eventsOf("first", row));
  }

  await run(0, "import", "traces.jsonl", "--store", "third");
  const traced = await rowsOf("third");
  // A trace has one reward, and calls of tools as its steps.
  const shared = ({ seed, outcome, steps, reward }: EpisodeRow) => [seed, outcome, steps, reward];
  expect(traced.map(shared)).toEqual(recorded.map(shared));
  const [, ...calls] = await eventsOf("third", traced[0] as EpisodeRow);
  expect(calls.map(({ request }) => request?.["arguments"])).toEqual([{ amount: 2 }, { amount: 3 }, { amount: 30 }]);

  const [first] = imported;
  expect((await run(0, "rm", "seed:1", "--store", "second")).stdout).toBe("1 episodes were deleted\n");
  expect((await rowsOf("second")).map(({ seed }) => seed)).toEqual([2]);
  await run(2, "show", first?.id as string, "--store", "second");
  await run(1, "rm", first?.id as string, "--store", "second");
});

test("preference pairs are saved, listed and exported with their shared start, and go with their episodes", async () => {
  const store = join(project.dir, "data");
  const server = await start({ store, viewerToken: "views", ...WITH_OPERATOR });
  const call = async (method: string, path: string, body?: object, headers: Record<string, string> = AS_OPERATOR) => {
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await fetch(`${server.url}/rollouts/${path}`, init);
    const text = await answer.text();
    return [answer.status, text === "" ? {} : JSON.parse(text)] as const;
  };
  const [good, bad, same, other] = [
    await play(server, 1, 2, 30),
    await play(server, 1, 2, 20),
    await play(server, 1, 2, 30, 5),
    await play(server, 3, 40),
  ];

  expect(await call("POST", `${bad}/pairs`, { rejected: good })).toMatchObject([201, { pairs: [{ chosen: bad }] }]);
  // The reverse replaces it.
  const [, saved] = await call("POST", `${good}/pairs`, { rejected: bad });
  expect(saved).toEqual({ pairs: [{ chosen: good, rejected: bad, savedAt: expect.any(Number) }] });
  const viewed = await call("GET", `${bad}/pairs`, undefined, { authorization: "Bearer views" });
  expect(viewed[1].pairs.map(({ chosen }: PreferencePair) => chosen)).toEqual([good]);
  const refused: [string, object, number, RegExp][] = [
    [good, {}, 400, /a JSON object with rejected/],
    [good, { rejected: "0".repeat(16) }, 404, /There is no episode "0{16}"/],
    [good, { rejected: good }, 400, /one episode is equal to the other, or to its beginning/],
    [good, { rejected: same }, 400, /one episode is equal to the other, or to its beginning/],
    [good, { rejected: other }, 400, /their first observations differ/],
  ];
  for (const [chosen, body, status, detail] of refused) {
    const given = await call("POST", `${chosen}/pairs`, body);
    expect(given).toMatchObject([status, { detail: expect.stringMatching(detail) }]);
  }
  expect((await call("POST", `${good}/pairs`, { rejected: bad }, { authorization: "Bearer views" }))[0]).toBe(401);

  const run = (...args: string[]) =>
    callCommand(["rollouts", "export", "--store", store, ...args], { cwd: project.dir });
  expect(await run("--pairs", "seed:3", "-o", "none.parquet")).toMatchObject({ code: 1, stderr: "0 pairs\n" });
  expect(await run("--pairs", "-o", "pairs.parquet")).toMatchObject({ code: 0, stderr: "1 pairs\n" });
  const file = await asyncBufferFromFile(join(project.dir, "pairs.parquet"));
  const [row] = (await parquetReadObjects({ file })) as Record<string, unknown>[];
  const action = (amount: number) => [
    expect.objectContaining({
      tool_calls: [expect.objectContaining({ function: { name: "step", arguments: { amount } } })],
    }),
  ];
  expect(row).toMatchObject({ chosen: action(30), rejected: action(20), chosen_reward: 32, rejected_reward: 22 });
  const prompt = row?.["prompt"] as { role: string }[] | undefined;
  expect(prompt?.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  expect(await run("--pairs", "-o", "pairs.parquet")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/exists/),
  });

  expect((await call("DELETE", `${bad}/pairs/${good}`))[0]).toBe(404);
  expect((await call("DELETE", `${good}/pairs/${bad}`))[0]).toBe(204);
  await call("POST", `${good}/pairs`, { rejected: bad });
  expect((await call("DELETE", bad))[0]).toBe(204);
  expect((await call("GET", `${good}/pairs`))[1]).toEqual({ pairs: [] });
});
