import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { faults } from "./axe.js";
import { longForm, longTools } from "./long-forms.js";
import { DESK, requireChromium, reset, usePages } from "./pages.js";

const chromium = await requireChromium();
const WAIT = { timeout: 10_000 };
const SIZES = { "a desk": DESK, "a tablet": { width: 768, height: 1024 }, "a phone": { width: 360, height: 800 } };

describe.skipIf(!chromium.available)("a form with 40 fields", () => {
  const { start, open } = usePages(chromium);

  for (const [name, size] of Object.entries(SIZES)) {
    test(`keeps Send and the number of invalid fields in the window: ${name}`, async () => {
      const page = await open(await start(longForm), { size });
      await reset(page);
      await page.locator("#action_field_39").waitFor();
      expect(await isInWindow(page, "form#action .send")).toBe(true);
      await page.locator("#action_field_0").fill("99");
      await page.getByRole("button", { name: /^Send/ }).click();
      await page.getByText("1 field to correct").waitFor();
      expect(await isInWindow(page, "form#action .send [role=alert]")).toBe(true);
      if (size === DESK) expect(await isInWindow(page, ".pane--state .pane__head")).toBe(true);
    });

    test(`keeps Send in the window after a step and wherever the page is scrolled: ${name}`, async () => {
      const page = await open(await start(longForm), { size });
      await reset(page);
      for (const [word, told] of [
        ["ok", "Observation"],
        ["fail", "The environment failed in this step"],
      ] as const) {
        await page.locator("#action_field_1").fill(word);
        await page.locator("#action_field_39").scrollIntoViewIfNeeded();
        await page.getByRole("button", { name: /^Send/ }).click();
        await page.locator(".pane--step", { hasText: told }).waitFor();
        if (word === "fail") await expect.poll(() => isInWindow(page, ".pane--step .note"), WAIT).toBe(true);
        expect(await isInWindow(page, "form#action .send")).toBe(true);
        expect(await cutOff(page, ".step__head, .pane__head")).toEqual([]);
        expect(await faults(page)).toEqual([]);
      }
      // Two columns: below the form are the timeline and the state.
      if (size === SIZES["a tablet"]) return;
      for (const share of [0, 0.5, 1]) {
        await page.evaluate((at) => scrollTo(0, document.documentElement.scrollHeight * at), share);
        expect([share, await isInWindow(page, "form#action .send")]).toEqual([share, true]);
      }
    });

    test(`keeps Send in the window with three tools, next to a short form: ${name}`, async () => {
      const page = await open(await start(longTools), { size });
      await reset(page);
      const field = await page.getByLabel("Text").boundingBox();
      const send = await page.getByRole("button", { name: /^Call/ }).boundingBox();
      expect((send?.y ?? 0) - (field?.y ?? 0) - (field?.height ?? 0)).toBeLessThan(64);
      await page.getByRole("option", { name: /^fill/ }).click();
      await page.locator("#action_field_39").waitFor();
      expect(await isInWindow(page, "form#action .send")).toBe(true);
    });
  }

  test("shows the whole of each field that the keyboard reaches", async () => {
    const page = await open(await start(longForm), { size: SIZES["a phone"] });
    await reset(page);
    await page.locator("#action_field_0").focus();
    for (let at = 1; at < 40; at++) {
      await page.keyboard.press("Tab");
      const isFree = await page.evaluate(() => {
        const { left, bottom, width } = (document.activeElement as HTMLElement).getBoundingClientRect();
        return document.elementFromPoint(left + width / 2, bottom - 2) === document.activeElement;
      });
      expect([at, isFree]).toEqual([at, true]);
    }
  });
});

function isInWindow(page: Page, selector: string): Promise<boolean> {
  return page.locator(selector).evaluate((part) => {
    const { top, bottom } = part.getBoundingClientRect();
    const at = document.elementFromPoint(part.getBoundingClientRect().left + 2, (top + bottom) / 2);
    return top >= 0 && bottom <= innerHeight && (part.contains(at) || at?.contains(part) === true);
  });
}

/** The texts of parts that are smaller than what is in them. */
function cutOff(page: Page, selector: string): Promise<string[]> {
  return page
    .locator(selector)
    .evaluateAll((parts) =>
      parts
        .filter((part) => part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight)
        .map((part) => part.textContent ?? ""),
    );
}
