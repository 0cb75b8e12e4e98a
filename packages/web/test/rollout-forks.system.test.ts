import { defineContract, defineEnvironment } from "openenv-ts";
import type { EpisodeRow, RolloutPage } from "openenv-ts/protocol";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fetchAsOperator, OPERATOR_TOKEN, WITH_OPERATOR } from "../../../test-support/operator.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { faults } from "./axe.js";
import { requireChromium, usePages } from "./pages.js";
import { useFolders } from "./rollouts.js";

const chromium = await requireChromium();

const contract = defineContract({
  name: "dice_env",
  action: z.object({ risk: z.int().min(0).max(3) }),
  observation: z.object({ rolled: z.int() }),
});
const environment = defineEnvironment(
  contract,
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

describe.skipIf(!chromium.available)("the value of a step", () => {
  const { start, open } = usePages(chromium);
  const makeFolder = useFolders();

  /** A server with an episode of four steps, and the public id of the episode. */
  const startPlayed = async () => {
    const server = await start(environment, { store: await makeFolder(), ...WITH_OPERATOR });
    await using socket = await openTestSocket(`${server.url}/ws`);
    await socket.ask({ type: "reset", data: { seed: 7 } });
    for (const risk of [1, 2, 0, 3]) await socket.ask({ type: "step", data: { risk } });
    let id = "";
    await expect
      .poll(async () => {
        const { rows } = (await (await fetchAsOperator(`${server.url}/rollouts`)).json()) as RolloutPage<EpisodeRow>;
        id = rows[0]?.id ?? "";
        return rows[0]?.outcome;
      })
      .toBe("done");
    return { server, id };
  };

  test("is that of forks which the server plays, and is there after a reload", async () => {
    const { server, id } = await startPlayed();
    const page = await open(server, { token: OPERATOR_TOKEN });
    await page.goto(`${server.url}/web/#/rollouts/${id}/step/1`);
    await page.getByText("Value of each step").click();
    await page.getByRole("button", { name: "Play 16 forks after step 1" }).click();
    const value = page.getByRole("img", { name: /^mean −?\d+\.\d\d+, between −?\d+\.\d\d+ and −?\d+\.\d\d+$/ });
    await value.waitFor();
    // The button returns when the forks are in the store.
    await page.getByRole("button", { name: "Play 16 forks after step 1" }).click();
    const row = page.locator(".tr__value li");
    await row.getByText("32 forks").waitFor();
    expect(await row.innerText()).toMatch(/^step 1, random[\s\S]*32 forks$/);
    expect(await faults(page)).toEqual([]);
    const shown = await value.getAttribute("aria-label");
    await page.reload();
    await value.waitFor();
    expect(await value.getAttribute("aria-label")).toBe(shown);
    const { rows } = (await (await fetchAsOperator(`${server.url}/rollouts`)).json()) as RolloutPage<EpisodeRow>;
    expect(rows.filter(({ parent }) => parent?.id === id)).toHaveLength(32);
  });

  test("says why forks cannot be played", async () => {
    const { server, id } = await startPlayed();
    const page = await open(server, { token: OPERATOR_TOKEN });
    await page.goto(`${server.url}/web/#/rollouts/${id}/step/2`);
    await page.getByText("Value of each step").click();
    await page.getByLabel("Actions").selectOption("model");
    await page.getByRole("button", { name: "Play 16 forks after step 2" }).click();
    await page.getByText("No model is configured: set OPENENV_ROLLOUTS_POLICY_URL").waitFor();
  });
});
