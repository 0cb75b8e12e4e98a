import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { defineContract, defineEnvironment } from "openenv-ts";
import type { RolloutSession } from "openenv-ts/protocol";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { callCommand } from "../../../test-support/commands/command-line.js";
import { fetchAsOperator, OPERATOR_TOKEN, WITH_OPERATOR } from "../../../test-support/operator.js";
import { requirePythonPackage } from "../../../test-support/requirement.js";
import { requireChromium, usePages } from "./pages.js";
import { useFolders } from "./rollouts.js";

const [chromium, python] = [await requireChromium(), await requirePythonPackage()];

/** Four throws: a risk that is not above the throw is its reward, a greater one costs 1. */
const environment = defineEnvironment(
  defineContract({
    name: "dice_env",
    description: "Choose a risk before each throw.",
    action: z.object({ risk: z.int().min(0).max(3) }),
    observation: z.object({ rolled: z.int() }),
  }),
  () => {
    let left = 4;
    return {
      reset: ({ rng }) => {
        left = 4;
        return { observation: { rolled: rng.int(0, 3) } };
      },
      step: ({ risk }, { rng }) => {
        const rolled = rng.int(0, 3);
        return { observation: { rolled }, reward: risk <= rolled ? risk : -1, done: --left === 0 };
      },
    };
  },
  { seeded: true },
);

/** Plays two groups as TRL does, and prints the columns of its log of completions. */
const TRAINER = `
import json, sys
from openenv_ts.trl import for_trl
columns = {}
with for_trl(sys.argv[1]) as spec:
    spec._begin_step("grpo-17", 40)
    rollouts = []
    for seed in (7, 8):
        for risks in ((0, 0, 0, 0), (0, 0, 3, 3), (0, 1, 0, 0), (0, 0, 0, 0)):
            rollouts.append(spec.environment_factory())
            rollouts[-1].reset(seed=seed)
            for risk in risks:
                rollouts[-1].step(risk=risk)
    rewards = spec.reward_funcs[0](environments=rollouts, log_extra=columns.__setitem__)
print(json.dumps([{"reward": reward, "link": link} for reward, link in zip(rewards, columns["openenv/link"])]))
`;

describe.skipIf(!chromium.available || !python.available)("from the log of a trainer", () => {
  const { start, open, expectProblem } = usePages(chromium);
  const makeFolder = useFolders();

  test("to the group, the first difference, sixteen forks, an episode played on, and a pair to train with", {
    timeout: 240_000,
  }, async () => {
    const store = await makeFolder();
    const server = await start(environment, { store, maxConcurrentEnvs: 32, ...WITH_OPERATOR });
    const { stdout } = await promisify(execFile)(python.path, ["-c", TRAINER, server.url]);
    const logged = JSON.parse(stdout) as { reward: number; link: string }[];
    const all = async () =>
      (await (await fetchAsOperator(`${server.url}/rollouts?q=outcome:done`)).json()).total as number;
    await expect.poll(all, { timeout: 20_000 }).toBe(logged.length);

    // The link of a rollout with a low reward; another one of its group played its first two steps in the same way.
    const [worst, good] = logged as [(typeof logged)[0], (typeof logged)[0]];
    expect(worst.reward).toBeLessThan(good.reward);
    const handle = good.link.split("/session/")[1];
    const session = (await (
      await fetchAsOperator(`${server.url}/rollouts/sessions/${handle}`)
    ).json()) as RolloutSession;
    const better = session.episodes[0] as string;
    expectProblem(/status of 401/);
    const page = await open(server, { view: worst.link.split("#/")[1] ?? "" });
    await page.getByLabel("Token").fill(OPERATOR_TOKEN);
    await page.getByLabel("Token").press("Enter");
    await page.getByRole("main").getByRole("listitem").getByRole("link").click();
    const head = page.locator(".tr__head");
    await head.getByText("seed 7").waitFor();
    await head.getByText("policy of step 40").waitFor();
    const [, id = ""] = /rollouts\/([0-9a-f]{16})/.exec(page.url()) ?? [];

    // Its group: the one whose rewards differ most is the first.
    await page.getByRole("link", { name: "Back to Rollouts" }).click();
    await page.getByRole("radiogroup", { name: "Rows" }).getByText("Group").click();
    await page.getByRole("heading", { name: "2 groups" }).waitFor();
    const row = (text: string) => page.locator(".gt__row:visible").filter({ hasText: text });
    await row("seed 7").click();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => page.locator(".gt__row:visible").count()).toBe(6);
    for (const one of [id, better]) {
      await row(one.slice(0, 8)).click();
      await page.keyboard.press("x");
    }
    await page.getByRole("link", { name: /^Compare A and B/ }).click();

    // The first difference, and the pair.
    await page.getByRole("heading", { name: "First difference: step 3" }).waitFor();
    await page.getByRole("button", { name: "Prefer B" }).click();
    await page.getByRole("button", { name: "Prefer B", pressed: true }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Prefer B", pressed: true }).waitFor();

    // Sixteen forks before the step that decided it.
    await page.goto(`${server.url}/web/#/rollouts/${id}/step/2`);
    await page.getByText("Value of each step").click();
    await page.getByRole("button", { name: "Play 16 forks after step 2" }).click();
    await page.locator(".tr__value li").getByText("16 forks").waitFor();

    // The reader plays on from there.
    await page.getByRole("link", { name: "Play on from step 2" }).click();
    await page.getByText(`Fork of episode ${id.slice(0, 8)}, step 2`).waitFor();
    await page.getByLabel("Risk", { exact: true }).fill("0");
    await page.getByRole("button", { name: /^Send/ }).click();
    await page.getByRole("heading", { name: "Step 3" }).waitFor();

    const file = join(store, "..", "pairs.parquet");
    const args = ["rollouts", "export", "--store", store, "--pairs", "run:grpo-17", "-o", file];
    expect(await callCommand(args, { cwd: join(store, "..") })).toMatchObject({ code: 0, stderr: "1 pairs\n" });
    const [pair] = (await parquetReadObjects({ file: await asyncBufferFromFile(file) })) as Record<string, unknown>[];
    expect(pair).toMatchObject({ rejected_reward: worst.reward, rejected: [risk(0)], chosen: [risk(3)] });
    expect(pair?.["prompt"]).toHaveLength(5);
  });
});

function risk(number: number): object {
  const call = { function: { name: "step", arguments: { risk: number } } };
  return expect.objectContaining({ tool_calls: [expect.objectContaining(call)] });
}
