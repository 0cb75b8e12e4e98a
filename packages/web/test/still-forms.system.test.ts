import { defineContract, defineEnvironment } from "openenv-ts";
import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { DESK, PHONE, requireChromium, reset, steps, usePages } from "./pages.js";
import zoo from "./zoo.js";

const chromium = await requireChromium();
/** Every place of an error message, with an invalid and a valid value. */
const PLACES = ["count", "code", "tags_0", "points_0_x", "extra_a", "shape_radius", "pair_1", "home_x"];
const SIZES = [
  ["a desk", DESK],
  ["a phone", PHONE],
] as const;

describe.skipIf(!chromium.available)("a form", () => {
  const { start, open } = usePages(chromium);

  for (const [name, size] of SIZES) {
    test(`does not shift when an error appears or disappears: ${name}`, async () => {
      const page = await open(await start(zoo), { size });
      await reset(page);
      await fillZoo(page);
      const before = await places(page);
      await page.getByRole("button", { name: /^Send/ }).click();
      await page.getByText(/fields to correct/).waitFor();
      expect(await page.locator("form#action .err:visible").count()).toBeGreaterThan(PLACES.length);
      expect(await places(page)).toEqual(before);
      for (const place of PLACES) {
        await page.locator(`#action_${place}`).fill(GOOD[place] ?? "3");
        await page.locator(`#action_${place}`).blur();
        await page.locator(`#action_${place}__error`).waitFor({ state: "hidden" });
        expect([place, await places(page)]).toEqual([place, before]);
      }
    });
  }

  test("receives the click that leaves a field and removes its error", async () => {
    const action = z.object({ count: z.int().max(10), flag: z.boolean().default(false) });
    const contract = defineContract({ name: "click_env", action, observation: z.object({}) });
    const play = () => ({ reset: () => ({ observation: {} }), step: () => ({ observation: {} }) });
    const page = await open(await start(defineEnvironment(contract, play)));
    await reset(page);
    for (const target of [page.getByLabel("Flag"), page.getByRole("button", { name: /^Send/ })]) {
      await page.getByLabel("Count").fill("12");
      await page.getByLabel("Count").blur();
      await page.getByText("Must be at most 10.").waitFor();
      await page.getByLabel("Count").fill("7");
      await pressBottom(page, target);
      await page.getByText("Must be at most 10.").waitFor({ state: "detached" });
      await page.mouse.up();
    }
    expect(await page.getByLabel("Flag").isChecked()).toBe(true);
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
  });

  test("receives the click on Send that leaves invalid JSON, and JSON that is valid again", async () => {
    const page = await open(await start(zoo));
    await reset(page);
    await page.locator("label", { hasText: /^JSON$/ }).click();
    const text = page.getByLabel("Action as JSON");
    const button = page.getByRole("button", { name: /^Send/ });
    await text.fill("{");
    const box = await button.boundingBox();
    await pressBottom(page, button);
    await page.getByText(/not valid JSON/).waitFor();
    expect(await button.boundingBox()).toEqual(box);
    await page.mouse.up();
    await page.getByText("1 field to correct").waitFor();
    expect(await button.boundingBox()).toEqual(box);
    expect(await steps(page).count()).toBe(1);
    await text.fill('{ "name": "lion", "color": "red" }');
    await page.getByText(/not valid JSON/).waitFor({ state: "detached" });
    expect(await button.boundingBox()).toEqual(box);
    await pressBottom(page, button);
    await page.mouse.up();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
  });

  for (const [name, size] of SIZES) {
    test(`with reset options does not shift when an error appears or disappears: ${name}`, async () => {
      const page = await open(await start(zoo), { size });
      await page.getByText("Connected", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Reset options", exact: true }).click();
      const dialog = page.getByRole("dialog");
      const button = dialog.getByRole("button", { name: /^Reset/ });
      await dialog.getByLabel("Split").selectOption("train");
      await dialog.getByText("Tasks 0 to 2.").waitFor();
      await dialog.getByLabel("Level").fill("99");
      const before = await dialogPlaces(page);
      await pressBottom(page, button);
      await page.locator("#reset-own_level__error", { hasText: "Must be at most 5." }).waitFor();
      expect(await dialogPlaces(page)).toEqual(before);
      await page.mouse.up();
      await dialog.locator("footer").getByText("1 field to correct").waitFor();
      expect(await dialogPlaces(page)).toEqual(before);
      await dialog.getByLabel("Level").fill("4");
      for (const field of ["Seed", "Task"]) await dialog.getByLabel(field, { exact: true }).fill("x");
      await pressBottom(page, button);
      await page.locator("#reset-own_level__error").waitFor({ state: "detached" });
      await page.mouse.up();
      await page.locator("#f-seed__error", { hasText: "Seed must be an integer." }).waitFor();
      await page.locator("#f-index__error").waitFor();
      await dialog.locator("footer").getByText("Keeps the timeline").waitFor();
      expect(await dialogPlaces(page)).toEqual(before);
      for (const field of ["Seed", "Task"]) await dialog.getByLabel(field, { exact: true }).fill("1");
      await pressBottom(page, button);
      await page.mouse.up();
      await page.getByText("Episode 1 started").waitFor({ state: "attached" });
    });
  }
});

const GOOD: Record<string, string> = { code: "XYZ", tags_0: "word" };

/** Expands all fields, and fills in invalid values. */
async function fillZoo(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Add tag" }).click();
  await page.getByRole("button", { name: "Add point" }).click();
  await page.getByRole("button", { name: "Add field" }).click();
  await page.getByLabel(/^Name of the field/).fill("a");
  await page.getByLabel(/^Name of the field/).blur();
  await page.getByLabel("Shape").selectOption({ label: "circle" });
  await page.getByLabel("Pair").selectOption({ label: "Fill in" });
  await page.getByLabel("Home").selectOption({ label: "Fill in" });
  await page.locator("#action_count").fill("99");
  await page.locator("#action_code").fill("x");
}

/** Clicks at the bottom edge, which a button would leave if it moved up. */
async function pressBottom(page: Page, target: Locator): Promise<void> {
  const box = await target.boundingBox();
  await page.mouse.move((box?.x ?? 0) + 8, (box?.y ?? 0) + (box?.height ?? 0) - 3);
  await page.mouse.down();
}

/** The position of each part of the form, relative to the form; for sticky parts, relative to the window. */
function places(page: Page): Promise<string[]> {
  return page.locator("form#action").evaluate((form) => {
    const { top } = form.getBoundingClientRect();
    const parts = form.querySelectorAll<HTMLElement>("input, textarea, select, button, label, .label-row, .hint");
    return (
      [...parts]
        // The position of text for screen readers does not matter; the hint next to Send is replaced by the message.
        .filter((part) => !part.matches(".keys--typing, .send .hint, .send .err") && part.offsetHeight > 1)
        .map((part) => {
          const place = part.getBoundingClientRect();
          const from = part.closest(".send") ? 0 : top;
          return `${part.id || part.innerText} ${Math.round(place.left)} ${Math.round(place.top - from)}`;
        })
    );
  });
}

/** The position and height of each part of the dialog in the window; for scrolled parts, before scrolling. */
function dialogPlaces(page: Page): Promise<string[]> {
  return page.getByRole("dialog").evaluate((dialog) => {
    const parts = dialog.querySelectorAll("input, select, button, label, .label-row, .hint, footer, footer > span");
    return [dialog, ...parts].map((part) => {
      const { left, top, height } = part.getBoundingClientRect();
      const scrolled = part.closest(".scroll")?.scrollTop ?? 0;
      return `${part.id || part.tagName} ${[left, top + scrolled, height].map(Math.round).join(" ")}`;
    });
  });
}
