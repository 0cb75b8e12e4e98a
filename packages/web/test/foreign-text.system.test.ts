import { defineContract, defineEnvironment, defineTools, EnvironmentError } from "openenv-ts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { OPERATOR_TOKEN, WITH_OPERATOR } from "../../../test-support/operator.js";
import { faults } from "./axe.js";
import { DESK, PHONE, partsLoaded, requireChromium, reset, steps, usePages, width } from "./pages.js";

const chromium = await requireChromium();

/** Turns the writing direction of the following text to right-to-left. */
const TURNED = "\u202eturned";
const LONG = "an_environment_with_a_name_that_is_much_longer_than_any_window_of_a_tablet_is_wide_env";
const TOOL = `tool_${"x".repeat(59)}`;

const turned = defineEnvironment(
  defineContract({
    name: TURNED,
    description: TURNED,
    action: z.object({ mood: z.string().describe(TURNED) }),
    observation: z.object({ [TURNED]: z.unknown() }),
    tools: defineTools({ fail: { description: TURNED, input: z.object({}), output: z.string() } }),
  }),
  () => ({
    reset: () => ({ observation: { [TURNED]: TURNED } }),
    step: ({ mood }) => {
      if (mood === "throw") throw new Error(TURNED);
      return { observation: { [TURNED]: { [TURNED]: [TURNED, TURNED] } }, metadata: { [TURNED]: TURNED } };
    },
    render: () => {
      throw new Error(TURNED);
    },
    tools: {
      fail: () => {
        throw new EnvironmentError(TURNED);
      },
    },
  }),
  { readme: `# ${TURNED}\n\nA word: ${TURNED}` },
);

describe.skipIf(!chromium.available)("text of an environment", () => {
  const { start, open } = usePages(chromium);

  test("with another writing direction does not affect the page's own text", async () => {
    const page = await open(await start(turned, { ...WITH_OPERATOR }), { token: OPERATOR_TOKEN });
    await page.getByRole("link", { name: /^Read about/ }).waitFor();
    expect(await turnedTexts(page)).toEqual([]);
    await reset(page);
    await page.getByRole("option", { name: /^action/ }).click();
    for (const [at, mood] of ["throw", "good"].entries()) {
      await page.getByLabel("Mood").fill(mood);
      await page.getByLabel("Mood").press("Enter");
      await steps(page)
        .nth(at + 1)
        .waitFor();
      for (const tab of ["Diff", "Raw JSON", "Step"]) {
        await page.getByRole("tab", { name: tab }).click();
        expect(await turnedTexts(page)).toEqual([]);
      }
    }
    await page.getByRole("option", { name: /^fail/ }).click();
    await page.getByRole("button", { name: /^Call/ }).click();
    await page.getByText("The call failed:").waitFor();
    expect(await turnedTexts(page)).toEqual([]);
    for (const view of ["Server", "About"]) {
      await page.getByRole("link", { name: view, exact: true }).click();
      await page.locator("main .card").nth(2).waitFor();
      expect(await turnedTexts(page)).toEqual([]);
    }
  });

  test("with another writing direction does not affect the pages of the HTTP routes", async () => {
    const server = await start(turned);
    const page = await open(server);
    for (const path of ["/docs", "/redoc"]) {
      await page.goto(server.url + path);
      await page.locator("details").evaluateAll((all) => {
        for (const one of all) (one as HTMLDetailsElement).open = true;
      });
      expect(await page.locator("main").innerText()).toContain(TURNED);
      expect([path, await turnedTexts(page)]).toEqual([path, []]);
    }
  });

  test("that is long leaves views, theme and the JSON switch in the window", async () => {
    const tools = defineTools({
      [TOOL]: { description: "A tool", input: z.object({}), output: z.string() },
      other: { description: "Another", input: z.object({}), output: z.string() },
    });
    const long = defineEnvironment(defineContract({ name: LONG, observation: z.object({}), tools }), () => ({
      reset: () => ({ observation: {} }),
      tools: { [TOOL]: () => "done", other: () => "done" },
    }));
    const server = await start(long);
    for (const size of [DESK, { width: 768, height: 1024 }, PHONE]) {
      const page = await open(server, { size });
      await reset(page);
      await page.getByRole("option", { name: /^tool_x/ }).click();
      await page.getByRole("button", { name: /^Call/ }).click();
      await page.getByRole("heading", { name: "Step 1" }).waitFor();
      expect(await width(page)).toBeLessThanOrEqual(size.width);
      for (const control of [
        page.getByRole("link", { name: "About", exact: true }),
        page.getByRole("button", { name: "Switch between light and dark" }),
        page.locator(".pane--act .seg label", { hasText: "JSON" }),
        page.getByRole("button", { name: "List again" }),
        page.locator(".pane--step .moves button").last(),
      ]) {
        const box = await control.boundingBox();
        expect(box?.x).toBeGreaterThanOrEqual(0);
        expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(size.width);
      }
      expect(await faults(page)).toEqual([]);
      await page.locator(".pane--act .seg label", { hasText: "JSON" }).click();
      await page.getByRole("link", { name: "About", exact: true }).click();
      await page.getByRole("heading", { name: "Facts" }).waitFor();
      expect(await width(page)).toBeLessThanOrEqual(size.width);
      expect(await faults(page)).toEqual([]);
      await page.close();
    }
  }, 120_000);
});

/** The page's own texts that run from right to left, and those that continue after text of the environment. */
async function turnedTexts(page: Page): Promise<string[]> {
  await partsLoaded(page);
  return page.evaluate((mark) => {
    const found: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const leftOf = (node: Text, at: number): DOMRect => {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      return range.getBoundingClientRect();
    };
    for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
      const text = node.data;
      // A value as JSON is entirely text of the environment.
      if (text.includes(mark) && (/^[[{]/.test(text) || node.parentElement?.closest("pre"))) continue;
      if (text.includes(mark)) {
        const behind = text.slice(text.lastIndexOf(mark) + mark.length);
        if (/[a-z]/i.test(behind)) found.push(`mixed: ${text}`);
        continue;
      }
      const at = text.search(/[a-z]{2}/i);
      if (at < 0) continue;
      const [first, second] = [leftOf(node, at), leftOf(node, at + 1)];
      if (first.width > 0 && Math.abs(first.top - second.top) < 2 && second.left < first.left) found.push(text);
    }
    return found;
  }, TURNED);
}
