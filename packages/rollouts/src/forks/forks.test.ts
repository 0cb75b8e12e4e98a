import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineContract, defineEnvironment, type EnvironmentDefinition } from "#core/index.js";
import type { EpisodeRow, ForkValue, GroupRow, RolloutPage } from "#core/protocol/rollouts.js";
import { AS_OPERATOR, fetchAsOperator, WITH_OPERATOR } from "../../../../test-support/operator.js";
import { sayText, startChatServer } from "../../../../test-support/other-servers/chat-server.js";
import { useServers } from "../../../../test-support/servers/servers.js";

vi.setConfig({ testTimeout: 120_000 });

const { start, open } = useServers();
const folders: string[] = [];
afterEach(() => {
  vi.unstubAllEnvs();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const dice = defineContract({
  name: "dice_env",
  action: z.object({ risk: z.int().min(0).max(3) }),
  observation: z.object({ rolled: z.int() }),
});

/** Four throws: the dice are the seed's, and a risk that is not above the throw is its reward. */
function defineDice(throwDice = (rng: { int(from: number, to: number): number }) => rng.int(0, 3)) {
  return defineEnvironment(
    dice,
    () => {
      let left = 4;
      return {
        reset: ({ rng }) => {
          left = 4;
          return { observation: { rolled: throwDice(rng) } };
        },
        step: ({ risk }, { rng }) => {
          const rolled = throwDice(rng);
          return { observation: { rolled }, reward: risk <= rolled ? risk : -1, done: --left === 0 };
        },
      };
    },
    { seeded: true },
  ) as unknown as EnvironmentDefinition;
}

/** A server with an episode of four steps. */
async function startPlayed(environment = defineDice(), seed: object = { seed: 7 }) {
  const folder = mkdtempSync(join(tmpdir(), "openenv-forks-"));
  folders.push(folder);
  const server = await start({ store: join(folder, "data"), maxConcurrentEnvs: 4, ...WITH_OPERATOR }, { environment });
  const socket = await open(server);
  await socket.ask({ type: "reset", data: { metadata: { run: "r", group: "g" }, ...seed } });
  for (const risk of [1, 2, 0, 3]) await socket.ask({ type: "step", data: { risk } });
  socket.ws.close();
  const [episode] = await rowsOf(server.url, 1, "-outcome:running");
  return { ...server, url: server.url, episode: episode as EpisodeRow };
}

async function rowsOf(url: string, count: number, q = ""): Promise<EpisodeRow[]> {
  let rows: EpisodeRow[] = [];
  await vi.waitFor(
    async () => {
      const answer = await fetchAsOperator(`${url}/rollouts?q=${encodeURIComponent(q)}`);
      ({ rows } = (await answer.json()) as RolloutPage<EpisodeRow>);
      expect(rows).toHaveLength(count);
    },
    { timeout: 20_000, interval: 50 },
  );
  return rows;
}

async function fork(url: string, id: string, body: unknown) {
  const answer = await fetch(`${url}/rollouts/${id}/forks`, {
    method: "POST",
    headers: AS_OPERATOR,
    body: JSON.stringify(body),
  });
  const events = (await answer.text()).split("\n\n").filter((text) => text !== "");
  const read = events.map((text) => /^event: (\w+)\ndata: (.*)$/s.exec(text) ?? [text, "", "{}"]);
  return {
    status: answer.status,
    events: read.map(([, name, data]) => ({ name, data: JSON.parse(data as string) })),
    text: events,
  };
}

describe("forks of a recorded episode", () => {
  test("are played at random to their end, and say what the step is worth", async () => {
    const { url, episode } = await startPlayed();
    const { events } = await fork(url, episode.id, { step: 1, count: 12, policy: "random" });
    expect(events.map(({ name }) => name)).toEqual([...Array(12).fill("value"), "end"]);
    const value = events.at(-2)?.data as ForkValue;
    expect(value).toMatchObject({ step: 1, policy: "random", count: 12, lost: 0 });
    const rows = await rowsOf(url, 12, "-group:g -outcome:running");
    const rewards = rows.map(({ reward }) => Number(reward));
    expect(value.mean).toBeCloseTo(rewards.reduce((sum, one) => sum + one, 0) / 12, 9);
    expect(value.low).toBeLessThan(value.mean as number);
    expect(new Set(rewards).size).toBeGreaterThan(1);
    for (const row of rows) expect(row).toMatchObject({ parent: { id: episode.id, step: 1 }, steps: 4, seed: 7 });
    const stored = await (await fetchAsOperator(`${url}/rollouts/${episode.id}/forks`)).json();
    expect(stored).toEqual({ values: [value] });
    // The groups that the trainer compares stay as they were.
    const groups = (await (await fetchAsOperator(`${url}/rollouts?by=group`)).json()) as RolloutPage<GroupRow>;
    expect(groups.rows.find(({ group }) => group === "g")).toMatchObject({ count: 1 });
  });

  test("with the recorded actions are the same episode, also from a seed that the server chose", async () => {
    const { url, episode } = await startPlayed(defineDice(), {});
    const { events } = await fork(url, episode.id, { step: 2, count: 3, policy: "recorded" });
    expect(events.at(-2)?.data).toMatchObject({ mean: episode.reward, low: episode.reward, high: episode.reward });
  });

  test("are not played where the environment answers in another way", async () => {
    const { url, episode } = await startPlayed(defineDice(() => Math.floor(Math.random() * 1e9)));
    const { events } = await fork(url, episode.id, { step: 3, count: 2 });
    expect(events.at(-1)).toMatchObject({
      name: "problem",
      data: {
        code: "NOT_RESTORABLE",
        message: expect.stringMatching(/observation\.rolled of event 0 was \d+ and is \d+/),
      },
    });
  });

  test("are played by a model that the operator has named", async () => {
    const none = await startPlayed();
    const { events: refused } = await fork(none.url, none.episode.id, { step: 0, count: 1, policy: "model" });
    expect(refused.at(-1)).toMatchObject({
      name: "problem",
      data: { message: expect.stringContaining("OPENENV_ROLLOUTS_POLICY_URL") },
    });
    await using model = await startChatServer((response) => sayText(response, '{"risk":0}'));
    vi.stubEnv("OPENENV_ROLLOUTS_POLICY_URL", model.url);
    vi.stubEnv("OPENENV_ROLLOUTS_POLICY_MODEL", "small");
    const { url, episode } = await startPlayed();
    const { events } = await fork(url, episode.id, { step: 0, count: 2, policy: "model" });
    expect(events.at(-2)?.data).toMatchObject({ policy: "model", count: 2, mean: 0 });
  });

  test.each([
    [{ step: -1 }, "step must be a non-negative integer."],
    [{ step: 1, count: 1000 }, "count must be an integer from 1 to 256."],
    [{ step: 1, policy: "best" }, "policy must be random, recorded, model."],
    ["text", "The body must be a JSON object with step, count and policy."],
  ])("are refused for %j", async (body, detail) => {
    const { url, episode } = await startPlayed();
    const { status, text } = await fork(url, episode.id, body);
    expect([status, JSON.parse(text[0] as string)]).toEqual([400, { detail, code: "VALIDATION_ERROR" }]);
  });

  test("end with the first that fails, and the others are not played", async () => {
    let resets = 0;
    const environment = defineEnvironment(dice, () => ({
      reset: () => ({ observation: { rolled: ++resets === 6 ? 2 : 1 } }),
      step: () => ({ observation: { rolled: 1 }, reward: 1 }),
    })) as unknown as EnvironmentDefinition;
    const { url, episode, capacity } = await startPlayed(environment);
    const { events } = await fork(url, episode.id, { step: 0, count: 200, policy: "recorded" });
    expect(events.at(-1)).toMatchObject({ name: "problem", data: { code: "NOT_RESTORABLE" } });
    await expect.poll(() => capacity().active_sessions, { timeout: 20_000 }).toBe(0);
    expect(resets).toBeLessThan(20);
    const { events: again } = await fork(url, episode.id, { step: 0, count: 1, policy: "recorded" });
    expect(again.at(-1)?.name).toBe("end");
  });

  test("of an episode whose secrets were not recorded are refused", async () => {
    const { url, episode } = await startPlayed(defineDice(), { seed: 7, metadata: { api_key: "k" } });
    const { events } = await fork(url, episode.id, { step: 1, count: 1 });
    expect(events.at(-1)).toMatchObject({
      name: "problem",
      data: { message: expect.stringContaining("a secret in it") },
    });
  });

  test("after a step that the episode does not have are refused with the reason", async () => {
    const { url, episode } = await startPlayed();
    const { events } = await fork(url, episode.id, { step: 9, count: 1 });
    expect(events.at(-1)).toMatchObject({
      name: "problem",
      data: { message: expect.stringContaining("it has 4 steps, not 9") },
    });
  });
});
