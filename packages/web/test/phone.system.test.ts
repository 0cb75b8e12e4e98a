import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import wordle from "../../../envs/wordle/server/environment.js";
import { startCommand } from "../../../test-support/commands/command-line.js";
import { PHONE, requireChromium, reset, usePages } from "./pages.js";
import zoo from "./zoo.js";

const chromium = await requireChromium();

describe.skipIf(!chromium.available)("on a phone", () => {
  const { start, open } = usePages(chromium);
  const scrolled = (page: Page): Promise<number> => page.evaluate(() => scrollY);

  test("the board is in the window after a step, whole", async () => {
    const page = await open(await start(wordle), { size: { width: 360, height: 800 } });
    await reset(page, 42);
    for (const [at, word] of ["[crane]", "[slate]", "[pound]"].entries()) {
      await page.getByLabel("Message").fill(word);
      await page.getByRole("button", { name: /^Send/ }).click();
      await page.getByRole("heading", { name: `Step ${at + 1}` }).waitFor();
      const board = page.locator(".pane--step .view-parts");
      const bottom = () => board.evaluate((element) => innerHeight - element.getBoundingClientRect().bottom);
      await expect.poll(bottom, { timeout: 10_000 }).toBeGreaterThanOrEqual(0);
      expect((await board.boundingBox())?.y).toBeGreaterThanOrEqual(0);
    }
  });

  test("a reset stays above a form that is longer than the window", async () => {
    const page = await open(await start(zoo), { size: PHONE });
    await page.locator("#action").waitFor();
    expect(await page.locator(".pane--act").evaluate((pane) => pane.clientHeight)).toBeGreaterThan(PHONE.height);
    await reset(page);
    await page.waitForTimeout(300);
    expect(await scrolled(page)).toBe(0);
  });
});

describe.skipIf(!chromium.available)("the environment of npm start", () => {
  const { open } = usePages(chromium);

  test("has its README in the page", async () => {
    const cwd = join(import.meta.dirname, "../../..");
    await using running = startCommand(["serve", "envs/echo", "--port", "0"], { cwd });
    const [, url = ""] = await running.printed(/at (http:\S+)/);
    const page = await open({ url }, { view: "about" });
    await page.locator(".prose").getByRole("heading", { name: "Echo", exact: true }).waitFor();
    await page.locator(".prose").getByText("echo_with_length").waitFor();
    await page.close();
  });
});
