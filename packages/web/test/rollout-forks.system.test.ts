import { defineContract, defineEnvironment } from "openenv-ts";
import type { EpisodeRow, RolloutPage } from "openenv-ts/protocol";
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fetchAsOperator, OPERATOR_TOKEN, WITH_OPERATOR } from "../../../test-support/operator.js";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { faults } from "./axe.js";
import { requireChromium, usePages } from "./pages.js";
import { useFolders } from "./rollouts.js";

const chromium = await requireChromium();
const READ_ONLY = "It requires the operator token: you have only the right to read.";
const VIEWER_TOKEN = "viewer of the tests";

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
  const { start, open, expectProblem } = usePages(chromium);
  const makeFolder = useFolders();

  /** A server with episodes of four steps, and their public ids, the newest first. */
  const startPlayed = async (...episodes: number[][]) => {
    const server = await start(environment, { store: await makeFolder(), viewerToken: VIEWER_TOKEN, ...WITH_OPERATOR });
    await using socket = await openTestSocket(`${server.url}/ws`);
    const played = [[1, 2, 0, 3], ...episodes];
    for (const risks of played) {
      await socket.ask({ type: "reset", data: { seed: 7 } });
      for (const risk of risks) await socket.ask({ type: "step", data: { risk } });
    }
    let rows: EpisodeRow[] = [];
    await expect
      .poll(async () => {
        ({ rows } = (await (await fetchAsOperator(`${server.url}/rollouts`)).json()) as RolloutPage<EpisodeRow>);
        return rows.filter(({ outcome }) => outcome === "done").length;
      })
      .toBe(played.length);
    return { server, id: rows[0]?.id ?? "", before: rows[1]?.id ?? "" };
  };

  test("is that of forks which the server plays, and is there after a reload", async () => {
    const { server, id } = await startPlayed();
    const page = await open(server, { token: OPERATOR_TOKEN });
    // The view Rollouts does not connect.
    await page.getByText("Connected", { exact: true }).waitFor();
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
    expect(await faults(page, "Connected", true)).toEqual([]);
    const shown = await value.getAttribute("aria-label");
    await page.reload();
    await value.waitFor();
    expect(await value.getAttribute("aria-label")).toBe(shown);
    const { rows } = (await (await fetchAsOperator(`${server.url}/rollouts`)).json()) as RolloutPage<EpisodeRow>;
    expect(rows.filter(({ parent }) => parent?.id === id)).toHaveLength(32);
  });

  test("is that of as many forks as are wanted", async () => {
    const { server, id } = await startPlayed();
    const page = await open(server, { token: OPERATOR_TOKEN });
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.goto(`${server.url}/web/#/rollouts/${id}/step/2`);
    await page.getByText("Value of each step").click();
    expectProblem(/status of 400/);
    for (const wrong of ["", "1.5", "257"]) {
      await page.getByLabel("Forks").fill(wrong);
      const refused = page.waitForResponse((response) => response.status() === 400);
      await page.getByRole("button", { name: "forks after step 2" }).click();
      await refused;
      await page.getByText("count must be an integer from 1 to 256.").waitFor();
    }
    await page.getByLabel("Forks").fill("3");
    await page.getByRole("button", { name: "Play 3 forks after step 2" }).click();
    await page.locator(".tr__value li").getByText("3 forks").waitFor();
    expect(await faults(page, "Connected", true)).toEqual([]);
  });

  test("says why forks cannot be played", async () => {
    const { server, id } = await startPlayed();
    const page = await open(server, { token: OPERATOR_TOKEN });
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.goto(`${server.url}/web/#/rollouts/${id}/step/2`);
    await page.getByText("Value of each step").click();
    await page.getByLabel("Actions").selectOption("model");
    await page.getByRole("button", { name: "Play 16 forks after step 2" }).click();
    await page.getByText("No model is configured: set OPENENV_ROLLOUTS_POLICY_URL").waitFor();
    expect(await faults(page, "Connected", true)).toEqual([]);
  });

  test("is read by a viewer, who is told that only the operator plays forks and saves pairs", async () => {
    const { server, id, before } = await startPlayed([1, 2, 3, 3]);
    expectProblem(/status of 401/);
    const page = await open(server, { view: `compare/${id}/${before}` });
    await page.getByText("The episode could not be read").waitFor();
    expect(await faults(page, "Not connected", true)).toEqual([]);
    await page.getByLabel("Token").fill(VIEWER_TOKEN);
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("heading", { name: "First difference: step 3" }).waitFor();
    const prefer = page.getByRole("button", { name: "Prefer B", disabled: true });
    await prefer.waitFor();
    expect(await prefer.getAttribute("title")).toBe(READ_ONLY);
    await page.getByRole("link", { name: "Fork from step 2" }).click();
    await page.getByText("Value of each step").click();
    await page.getByRole("button", { name: "Play 16 forks after step 2", disabled: true }).waitFor();
    await page.getByText(READ_ONLY).waitFor();
    expect(await faults(page, "Not connected", true)).toEqual([]);
  });

  test("is reached by keys alone, from the table to a transcript, its forks, a comparison and a pair", async () => {
    const { server, id, before } = await startPlayed([1, 2, 3, 3]);
    const page = await open(server, { token: OPERATOR_TOKEN, view: "rollouts" });
    await page.locator(".gt__row:visible").nth(1).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    const transcript = page.getByRole("region", { name: `Transcript of ${id}` });
    await transcript.locator(".turn").first().waitFor();
    for (const key of ["j", "j"]) await page.keyboard.press(key);
    await expect.poll(() => new URL(page.url()).hash).toMatch(`#/rollouts/${id}/step/1`);
    await press(page, page.getByText("Value of each step"));
    await press(page, page.getByRole("button", { name: "Play 16 forks after step 1" }));
    await page.locator(".tr__value li").getByText("16 forks").waitFor();
    await press(page, page.getByRole("link", { name: "Back to Rollouts" }));
    await page.locator('.gt__row[aria-selected="true"]').waitFor();
    for (const key of ["x", "j", "x", "c"]) await page.keyboard.press(key);
    await page.getByRole("heading", { name: "First difference: step 3" }).waitFor();
    await expect.poll(() => new URL(page.url()).hash).toBe(`#/compare/${id}/${before}`);
    await press(page, page.getByRole("button", { name: "Prefer B" }));
    await page.getByRole("button", { name: "Prefer B", pressed: true }).waitFor();
    await press(page, page.getByRole("link", { name: "Play on from step 2" }));
    await page.getByText(`Fork of episode ${id.slice(0, 8)}, step 2`).waitFor();
  });
});

/** Goes to a control with Tab, and presses it. */
async function press(page: Page, control: Locator): Promise<void> {
  await control.waitFor();
  const hasFocus = () => control.evaluate((element) => element === document.activeElement);
  for (let tabs = 0; !(await hasFocus()); tabs++) {
    expect(tabs).toBeLessThan(100);
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
}
