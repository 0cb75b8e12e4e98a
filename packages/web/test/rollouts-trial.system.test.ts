import { randomInt } from "node:crypto";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { rowsOf } from "../../../test-support/rollouts/stores.js";
import { openTestSocket, type TestSocket } from "../../../test-support/sockets/socket.js";
import { requireChromium, usePages } from "./pages.js";
import desk, { type DeskEpisode, type DeskStep, playAll, playOn, useFolders } from "./rollouts.js";

const chromium = await requireChromium();
/** Set it to repeat a trial. */
const SEED = Number(process.env["TRIAL_SEED"] ?? randomInt(1_000_000));
const [GROUPS, SIZE, LIVE] = [250, 8, 2_000];
const LIMIT_MS = 30_000;
const FAILURES = ["Order 17 is closed", "amount must be at most 49.90", "KeyError: 'sku'", "no policy for 'lamps'"];

describe.skipIf(!chromium.available)(`a trial with the seed ${SEED}`, () => {
  const { start, open } = usePages(chromium);
  const makeFolder = useFolders();

  test("finds planted faults among 2,000 live and as many recorded rollouts by the page alone", async () => {
    const planted = plant(SEED);
    const server = await start(desk, { store: await makeFolder(), maxConcurrentEnvs: LIVE + 64 });
    await playAll(server.url, planted.recorded, 32);
    const sockets: TestSocket[] = [];
    onTestFinished(() => {
      for (const socket of sockets) socket.ws.terminate();
    });
    const waiting = [...planted.live];
    const players = Array.from({ length: 32 }, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const socket = await openTestSocket(`${server.url}/ws`);
        sockets.push(socket);
        await playOn(socket, next);
      }
    });
    await Promise.all(players);
    // It is called stuck after ten seconds in a call.
    await rowsOf(server.url, 1, "?q=outcome:stuck");
    const page = await open(server, { view: "rollouts" });

    await within("the stuck session", async () => {
      await page.getByRole("button", { name: /^Stuck in a call 1$/ }).click();
      await heading(page, "1 episode");
      expect(await rows(page).innerText()).toContain(`seed ${planted.stuck.seed}`);
    });
    await page.getByRole("button", { name: "Remove outcome: stuck" }).click();

    await within("the failure that most share", async () => {
      await page.getByText("Failures", { exact: true }).last().click();
      await heading(page, `${FAILURES.length} kinds of failure`);
      expect(await rows(page).first().innerText()).toContain(
        planted.failure.replace(/\d[\d.]*/g, "#").replace(/'.*'/, "“…”"),
      );
    });

    await within("the group without signal", async () => {
      await page.getByText("Groups", { exact: true }).click();
      await heading(page, `${(GROUPS + LIVE / SIZE + 1).toLocaleString("en")} groups`);
      await page.getByRole("button", { name: /Spread/ }).click();
      await expect.poll(() => rows(page).first().innerText(), { timeout: LIMIT_MS }).toContain("No signal");
      expect(await rows(page).first().innerText()).toContain(planted.flat);
      expect(await rows(page).filter({ hasText: "No signal" }).count()).toBe(1);
    });

    await page.getByText("Episodes", { exact: true }).first().click();
    await within("the step where two rollouts part", async () => {
      await page.getByLabel("Search rollouts").pressSequentially("group:parted ");
      await heading(page, "2 episodes");
      for (const key of ["Escape", "j", "x", "j", "x", "c"]) await page.keyboard.press(key);
      await page.getByRole("heading", { name: `First difference: step ${planted.parting}`, exact: true }).waitFor();
    });

    // The last row is read when it comes into sight.
    await page.goto(`${server.url}/web/#/rollouts?sort=started`);
    const all = GROUPS * SIZE + LIVE + 2;
    await heading(page, `${all.toLocaleString("en")} episodes`);
    const grid = page.getByRole("treegrid");
    await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    const last = page.locator(`[aria-rowindex="${all + 1}"] .t`);
    await expect.poll(() => last.innerText(), { timeout: 20_000 }).toMatch(/^[0-9a-f]{8}/);
  }, 360_000);
});

/** Fails if a task takes longer than a person would wait. */
async function within(task: string, perform: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${task} was not found within ${LIMIT_MS / 1000} s`)), LIMIT_MS);
  });
  await Promise.race([perform(), late]).finally(() => clearTimeout(timer));
}

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
  const stuckAt = below(LIVE);
  const live = Array.from({ length: LIVE }, (_, at): DeskEpisode => {
    const steps = [{ reward: (at % SIZE) / 10 }, ...(at === stuckAt ? [{ reward: 0, hang: true }] : [])];
    return { seed: 10_000 + at, group: `live-${Math.floor(at / SIZE)}`, steps };
  });
  const parting = 2 + below(8);
  const parted = [0, 1].map((which): DeskEpisode => {
    const steps = Array.from({ length: 12 }, (_, at) => ({ reward: at + 1 < parting ? 0.1 : which + at / 100 }));
    return { seed: 1, group: "parted", steps: [...steps, { reward: 0, end: true }] };
  });
  return {
    recorded: [...episodes, ...parted],
    live,
    parting,
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
