import { defineContract, defineEnvironment } from "openenv-ts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { DESK, PHONE, requireChromium, reset, usePages } from "./pages.js";

const chromium = await requireChromium();

const contract = defineContract({
  name: "adder_env",
  action: z.object({ add: z.int().meta({ examples: [1] }) }),
  observation: z.object({ sum: z.int() }),
});
const adder = defineEnvironment(
  contract,
  () => {
    let sum = 0;
    return {
      reset: () => ({ observation: { sum: (sum = 0) } }),
      step: ({ add }) => ({ observation: { sum: (sum += add) }, reward: add, done: false }),
      snapshot: () => sum,
      restore: (saved: number) => void (sum = saved),
    };
  },
  { history: 10 },
);

async function add(page: Page, amount: number, step: number) {
  await page.getByLabel("Add", { exact: true }).fill(String(amount));
  await page.getByRole("button", { name: /^Send/ }).click();
  await page.getByRole("heading", { name: `Step ${step}` }).waitFor();
}

const sumOf = (page: Page) => page.locator('.pane--step dt:text-is("sum") + dd').innerText();

/** Clicks a button that opens a tab. */
async function forked(page: Page, button: string): Promise<Page> {
  const opened = page.waitForEvent("popup");
  const menu = page.getByRole("button", { name: "More: import, export, fork" });
  if (button === "Fork" && (await menu.isVisible())) await menu.click();
  await page.getByRole("button", { name: button, exact: true }).filter({ visible: true }).click();
  const tab = await opened;
  await tab.getByText("Connected", { exact: true }).waitFor();
  return tab;
}

describe.skipIf(!chromium.available)("Fork", () => {
  const { start, open } = usePages(chromium);

  test.each([
    ["a desktop", DESK],
    ["a phone", PHONE],
  ])("opens copies of the session in new tabs, now and from an earlier step, on %s", async (_, size) => {
    const server = await start(adder, { resumeGuarantee: 1 });
    const page = await open(server, { size });
    await reset(page);
    await add(page, 2, 1);
    await add(page, 3, 2);
    const now = await forked(page, "Fork");
    await now.getByRole("heading", { name: "Step 2" }).waitFor();
    await add(now, 10, 3);
    expect(await sumOf(now)).toBe("15");
    await page.getByRole("button", { name: "Previous step (K)" }).click();
    const earlier = await forked(page, "Fork from here");
    await earlier.getByRole("heading", { name: "Step 1" }).waitFor();
    await add(earlier, 20, 2);
    expect(await sumOf(earlier)).toBe("22");
    await page.getByRole("button", { name: "Next step (J)" }).click();
    await add(page, 1, 3);
    expect(await sumOf(page)).toBe("6");
    expect(server.capacity().active_sessions).toBe(3);
    await now.close({ runBeforeUnload: true });
    await earlier.close({ runBeforeUnload: true });
    // A page that is left may be loaded again.
    await expect.poll(() => server.capacity().active_sessions, { timeout: 60_000 }).toBe(1);
  });

  test("shows why a session was not copied", async () => {
    const page = await open(await start(defineCounter().environment));
    await reset(page);
    const button = page.getByRole("button", { name: "Fork", exact: true });
    await expect.poll(() => button.getAttribute("aria-disabled")).toBe("true");
    expect(await button.getAttribute("title")).toContain(
      "the environment declares neither snapshot() and restore() nor seeded: true",
    );
    const full = await open(await start(adder, { maxConcurrentEnvs: 1 }));
    await reset(full);
    await full.getByRole("button", { name: "Fork", exact: true }).click();
    const alert = full.getByRole("alert");
    expect(await alert.innerText()).toMatch(/capacity|sessions/i);
    await full.getByRole("button", { name: "Dismiss" }).click();
    await alert.waitFor({ state: "detached" });
  });
});
