import { randomInt } from "node:crypto";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { requireChromium, usePages } from "./pages.js";
import desk, { type DeskEpisode, type DeskStep, playAll, playOn, useFolders } from "./rollouts.js";

const chromium = await requireChromium();
/** Set it to repeat a trial. */
const SEED = Number(process.env["TRIAL_SEED"] ?? randomInt(1_000_000));
const [GROUPS, SIZE] = [250, 8];
const FAILURES = ["Order 17 is closed", "amount must be at most 49.90", "KeyError: 'sku'", "no policy for 'lamps'"];

describe.skipIf(!chromium.available)(`a trial with the seed ${SEED}`, () => {
  const { start, open } = usePages(chromium);
  const makeFolder = useFolders();

  test("finds planted faults among 2,000 rollouts by the page alone", async () => {
    const planted = plant(SEED);
    const server = await start(desk, { store: await makeFolder(), maxConcurrentEnvs: 256 });
    await playAll(server.url, planted.episodes, 32);
    const sockets = await Promise.all(planted.live.map(() => openTestSocket(`${server.url}/ws`)));
    await Promise.all(planted.live.map((episode, at) => playOn(sockets[at] as (typeof sockets)[number], episode)));
    const page = await open(server, { view: "rollouts" });

    // It is called stuck after ten seconds in a call.
    await page.getByRole("button", { name: /^Stuck in a call 1$/ }).click({ timeout: 60_000 });
    await heading(page, "1 episode");
    expect(await rows(page).innerText()).toContain(`seed ${planted.stuck.seed}`);
    await page.getByRole("button", { name: "Remove outcome: stuck" }).click();

    await page.getByText("Failures", { exact: true }).last().click();
    await heading(page, `${FAILURES.length} kinds of failure`);
    expect(await rows(page).first().innerText()).toContain(
      planted.failure.replace(/\d[\d.]*/g, "#").replace(/'.*'/, "“…”"),
    );

    await page.getByText("Groups", { exact: true }).click();
    await heading(page, `${GROUPS + 1} groups`);
    await page.getByRole("button", { name: /Spread/ }).click();
    await expect.poll(() => rows(page).first().innerText()).toContain("No signal");
    expect(await rows(page).first().innerText()).toContain(planted.flat);
    expect(await rows(page).filter({ hasText: "No signal" }).count()).toBe(1);

    // The last row is read when it comes into sight.
    await page.getByText("Episodes", { exact: true }).first().click();
    await page.getByRole("button", { name: /^Episode/ }).click();
    await heading(page, `${(GROUPS * SIZE + planted.live.length).toLocaleString("en")} episodes`);
    const grid = page.getByRole("treegrid");
    await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    const last = page.locator(`[aria-rowindex="${GROUPS * SIZE + planted.live.length + 1}"] .t`);
    await expect.poll(() => last.innerText(), { timeout: 20_000 }).toMatch(/^[0-9a-f]{8}/);
    for (const socket of sockets) await socket[Symbol.asyncDispose]();
  }, 240_000);
});

/** Rollouts with one fault of each kind, which depend on the seed alone. */
function plant(seed: number) {
  let state = seed;
  const random = (): number => {
    // Numerical Recipes' generator: enough to choose places.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const below = (number: number): number => Math.floor(random() * number);
  const nameOf = (group: number): string => `task-${String(group).padStart(4, "0")}`;
  const flat = below(GROUPS);
  const common = below(FAILURES.length);
  const refusals = FAILURES.flatMap((text, at) =>
    Array.from({ length: at === common ? 60 : 20 + below(20) }, () => text),
  );
  const places = new Map(refusals.map((text) => [below(GROUPS * SIZE), text]));
  const episodes = Array.from({ length: GROUPS * SIZE }, (_, at): DeskEpisode => {
    const group = Math.floor(at / SIZE);
    const refuse = places.get(at);
    const reward = group === flat ? 0.25 : Number((random() + (at % SIZE) / 4).toFixed(3));
    const steps: DeskStep[] = Array.from({ length: below(4) }, () => ({ reward: 0 }));
    if (refuse !== undefined) steps.push({ reward: 0, refuse: refuse.replace(/\d+/, String(below(1000))) });
    return { seed: at, group: nameOf(group), steps: [...steps, { reward, end: true }] };
  });
  const stuckAt = below(24);
  const live = Array.from({ length: 24 }, (_, at): DeskEpisode => {
    const steps = [{ reward: at / 10 }, ...(at === stuckAt ? [{ reward: 0, hang: true }] : [])];
    return { seed: 10_000 + at, group: "live", steps };
  });
  return {
    episodes,
    live,
    stuck: live[stuckAt] as DeskEpisode,
    failure: FAILURES[common] as string,
    flat: nameOf(flat),
  };
}

function rows(page: Page) {
  return page.locator(".gt__row:visible");
}

async function heading(page: Page, text: string): Promise<void> {
  await page.getByRole("heading", { name: text, exact: true }).waitFor();
}
