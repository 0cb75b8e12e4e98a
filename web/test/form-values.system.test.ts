import fc from "fast-check";
import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { objectCase } from "./generated-schemas.js";
import { requireChromium, reset, usePages } from "./pages.js";

const chromium = await requireChromium();
const LINES = "# Title\n\n- one\n- two";

describe.skipIf(!chromium.available)("what a form sends", () => {
  const { start, open } = usePages(chromium);

  test("has the lines that were pasted and typed, in every text", async () => {
    const action = z.object({
      message: z.string(),
      code: z.string().default("").describe("A program"),
      short: z.string().max(40).nullable().default(null),
      notes: z.array(z.string()).default([]),
    });
    const page = await open(await start(echoing(action)));
    await reset(page);
    await page.getByRole("button", { name: "Add note" }).click();
    for (const id of ["message", "short", "notes_0"]) {
      await page.locator(`#action_${id}`).focus();
      await page.keyboard.insertText(LINES);
    }
    await page.getByLabel("Code").fill("first");
    await page.getByLabel("Code").press("Enter");
    await page.keyboard.type("second");
    await page.getByText("Enter adds a line, Ctrl+Enter sends").waitFor();
    await page.getByLabel("Message").press("End");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("three");
    await page.getByText("Enter sends, Shift+Enter adds a line").locator("visible=true").waitFor();
    await page.keyboard.press("Enter");
    expect(await sent(page)).toEqual({
      message: `${LINES}\nthree`,
      code: "first\nsecond",
      short: LINES,
      notes: [LINES],
    });
  });

  test("is what its JSON shows, and is taken from there too: what may be left out is not null", async () => {
    const target = z.union([z.string(), z.object({ x: z.int() })]).optional();
    const action = z.object({
      message: z.string(),
      target,
      home: z.object({ x: z.int(), y: z.int().default(0) }).optional(),
    });
    const page = await open(await start(echoing(action)));
    await reset(page);
    await page.getByLabel("Message").fill("hello");
    await page.locator("label", { hasText: /^JSON$/ }).click();
    expect(JSON.parse(await page.getByLabel("Action as JSON").inputValue())).toEqual({ message: "hello" });
    await page.getByRole("button", { name: /^Send/ }).click();
    expect(await sent(page)).toEqual({ message: "hello" });
    await page.getByRole("tab", { name: "Step" }).click();
    await page.getByText("received").first().waitFor();
    await page.locator("label", { hasText: /^Form$/ }).click();
    await page.getByLabel("Target").selectOption({ label: "object" });
    await page.locator("#action_target_x").fill("4");
    await page.getByRole("button", { name: /^Send/ }).click();
    await page.getByRole("heading", { name: "Step 2" }).waitFor();
    expect(await sent(page)).toEqual({ message: "hello", target: { x: 4 } });
  });

  test("is what its JSON shows, and is taken: forms of generated schemas", async () => {
    const cases = fc.sample(objectCase, { numRuns: 12, seed: 20 });
    const tools = cases.map(
      ({ schema }, at) => [`tool_${at}`, { description: "Takes it.", input: schema as z.ZodObject }] as const,
    );
    const contract = defineContract({
      name: "generated_env",
      observation: z.object({}),
      tools: defineTools(Object.fromEntries(tools)),
    });
    const environment = defineEnvironment(contract, () => ({
      reset: () => ({ observation: {} }),
      tools: Object.fromEntries(tools.map(([name]) => [name, () => "taken"])),
    }));
    const page = await open(await start(environment));
    await reset(page);
    for (const [at, { value }] of cases.entries()) {
      await page.getByRole("option", { name: new RegExp(`^tool_${at} `) }).click();
      await page.getByRole("heading", { name: `tool_${at}`, exact: true }).waitFor();
      await page.locator("label", { hasText: /^JSON$/ }).click();
      await page.getByLabel("Action as JSON").fill(JSON.stringify(value));
      await page.locator("label", { hasText: /^Form$/ }).click();
      await page.locator("form#action .send").waitFor();
      await page.locator("label", { hasText: /^JSON$/ }).click();
      const shown: unknown = JSON.parse(await page.getByLabel("Action as JSON").inputValue());
      await page.locator("label", { hasText: /^Form$/ }).click();
      await page.getByRole("button", { name: /^Call/ }).click();
      await page.getByRole("heading", { name: `Step ${at + 1}` }).waitFor();
      expect([at, (await sent(page))["arguments"]]).toEqual([at, shown]);
      await page.getByRole("tab", { name: "Step" }).click();
      await page.locator(".pane--step .badge--ok").waitFor();
    }
  });
});

function echoing(action: z.ZodObject) {
  const contract = defineContract({
    name: "echoing_env",
    action,
    observation: z.object({ received: z.record(z.string(), z.unknown()).default({}) }),
  });
  return defineEnvironment(contract, () => ({
    reset: () => ({ observation: {} }),
    step: (received) => ({ observation: { received: received as Record<string, unknown> } }),
  }));
}

/** The action of the latest step, as it crossed the wire. */
async function sent(page: Page): Promise<Record<string, unknown>> {
  await page.getByRole("heading", { name: /^Step \d/ }).waitFor();
  await page.getByRole("tab", { name: "Raw JSON" }).click();
  const text = await page.locator(".frame").first().locator("pre").innerText();
  return (JSON.parse(text) as { data: Record<string, unknown> }).data;
}
