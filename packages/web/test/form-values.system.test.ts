import fc from "fast-check";
import { bytes, defineContract, defineEnvironment, defineTools } from "openenv-ts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { objectCase } from "./generated-schemas.js";
import { PHONE, requireChromium, reset, usePages } from "./pages.js";

const chromium = await requireChromium();
const LINES = "# Title\n\n- one\n- two";

describe.skipIf(!chromium.available)("what a form sends", () => {
  const { start, open } = usePages(chromium);

  test("has the pasted and typed lines, in every text field", async () => {
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

  test("has the lines of a tool's argument, of a union, and of reset options", async () => {
    const page = await open(await start(writer));
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Reset options", exact: true }).click();
    await typeLines(page, "#reset-own_notes");
    await page.getByText("Enter sends, Shift+Enter adds a line").locator("visible=true").waitFor();
    await page.keyboard.press("Enter");
    await page.getByText("Episode 1 started").waitFor({ state: "attached" });
    expect(await sent(page, /^Reset$/)).toMatchObject({ notes: "one\ntwo" });
    await page.getByLabel("Either").selectOption({ label: "string" });
    await typeLines(page, "#action_either");
    const hint = page.locator("#action_either__keys");
    expect(await hint.innerText()).toBe("Enter sends, Shift+Enter adds a line");
    // Below the text, in the place of a message, and hidden while there is one.
    const [field, line] = [await page.locator("#action_either").boundingBox(), await hint.boundingBox()];
    expect(line?.y).toBeGreaterThanOrEqual((field?.y ?? 0) + (field?.height ?? 0));
    await typeLines(page, "#action_text");
    await page.keyboard.press("Enter");
    expect(await sent(page)).toMatchObject({ arguments: { text: "one\ntwo", either: "one\ntwo" } });
    await page.locator("#action_either").fill("ab");
    await page.getByRole("button", { name: /^Call/ }).click();
    await page.getByText("Must have at least 3 characters.").locator("visible=true").waitFor();
    expect(await hint.isVisible()).toBe(false);
  });

  for (const [name, size] of [
    ["a phone", PHONE],
    ["a tablet", { width: 768, height: 1024 }],
  ] as const) {
    test(`has the lines typed on a touch screen, where only the button sends: ${name}`, async () => {
      for (const fields of [["text"], ["text", "code", "either"]]) {
        const text = z.string();
        const type = (field: string): z.ZodType => (field === "either" ? z.union([text, z.int()]) : text);
        const action = z.object(Object.fromEntries(fields.map((field) => [field, type(field)])));
        const page = await open(await start(echoing(action)), { size, touch: true });
        await reset(page);
        if (fields.includes("either")) await page.getByLabel("Either").selectOption({ label: "string" });
        for (const field of fields) {
          const height = () => page.locator(".pane--act").evaluate((pane) => pane.clientHeight);
          await page.locator(`#action_${field}`).waitFor();
          const before = await height();
          await page.locator(`#action_${field}`).focus();
          await page.keyboard.type("one");
          await page.locator(`#action_${field}__keys`, { hasText: "Enter adds a line, the button sends" }).waitFor();
          expect(await height()).toBe(before);
          await page.keyboard.press("Enter");
          await page.keyboard.type("two");
        }
        expect(await page.getByRole("heading", { name: "Step 1" }).count()).toBe(0);
        await page.getByRole("button", { name: /^Send/ }).click();
        await page.getByRole("heading", { name: "Step 1" }).waitFor();
        expect(await sent(page)).toEqual(Object.fromEntries(fields.map((field) => [field, "one\ntwo"])));
      }
    });
  }

  test("has empty strings and repeated choices of a list, bytes of a file, and the time in UTC", async () => {
    const action = z.object({
      words: z.array(z.string()).default([]),
      moves: z.array(z.enum(["up", "down"])).default([]),
      data: bytes(),
      at: z.iso.datetime(),
    });
    const page = await open(await start(echoing(action)), { timezoneId: "America/New_York" });
    await reset(page);
    await page.getByRole("button", { name: "Add word" }).click();
    await page.getByRole("button", { name: "Add word" }).click();
    await page.locator("#action_words_1").fill("two");
    for (const move of ["up", "down", "up", "up"])
      await page.getByRole("button", { name: `Add ${move}`, exact: true }).click();
    await page.getByRole("button", { name: "Remove item 2, down" }).click();
    await page.getByText("date-time, America/New_York time, required").waitFor();
    await page.locator("#action_at").fill("2026-01-15T08:30");
    const file = { name: "some.bin", mimeType: "application/octet-stream", buffer: Buffer.alloc(2000, 7) };
    await page.getByLabel("Choose a file").setInputFiles(file);
    await page.getByText("2.0 kB, as base64").waitFor();
    await page.getByRole("button", { name: /^Send/ }).click();
    expect(await sent(page)).toEqual({
      words: ["", "two"],
      moves: ["up", "up", "up"],
      data: file.buffer.toString("base64"),
      at: "2026-01-15T13:30:00.000Z",
    });
  });

  test("is invalid at fields to which the count of them leads, one after the other", async () => {
    const action = z.object({
      first: z.int(),
      color: z.enum(["red", "blue"]),
      moves: z.array(z.enum(["up", "down"])).min(1),
    });
    const page = await open(await start(echoing(action)));
    await reset(page);
    await page.getByRole("button", { name: /^Send/ }).click();
    await page.locator("#action_first:focus").waitFor();
    expect(await page.locator("#action_color__error").innerText()).toBe("Required.");
    const leads = page.getByRole("button", { name: "3 fields to correct" });
    await leads.click();
    await page.locator("#action_color:focus").waitFor();
    await leads.click();
    await page.getByRole("button", { name: "Add up" }).and(page.locator(":focus")).waitFor();
    await leads.click();
    await page.locator("#action_first:focus").waitFor();
  });

  test("equals its JSON, and is updated from it: an omitted optional field is not null", async () => {
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

  test("equals its JSON, and is accepted: forms of generated schemas", async () => {
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
    let typed = 0;
    for (const [at, { value }] of cases.entries()) {
      await page.getByRole("option", { name: new RegExp(`^tool_${at} `) }).click();
      await page.getByRole("heading", { name: `tool_${at}`, exact: true }).waitFor();
      await page.locator("label", { hasText: /^JSON$/ }).click();
      await page.getByLabel("Action as JSON").fill(JSON.stringify(value));
      await page.locator("label", { hasText: /^Form$/ }).click();
      await page.locator("form#action .send").waitFor();
      const texts = await page.locator("form#action textarea:visible").all();
      const numbers = await page.locator("form#action input[inputmode]:visible").all();
      for (const [field, word] of [
        ...texts.map((one) => [one, "xyx"] as const),
        ...numbers.map((one) => [one, "7"] as const),
      ]) {
        await field.focus();
        await page.keyboard.press("ControlOrMeta+a");
        await page.keyboard.type(word);
        typed++;
      }
      for (const field of await page.locator("form#action input[type=datetime-local]:visible").all()) {
        await field.fill("2024-05-17T08:30");
      }
      await page.locator("label", { hasText: /^JSON$/ }).click();
      const text = await page.getByLabel("Action as JSON").inputValue();
      const shown: unknown = JSON.parse(text);
      expect([at, text.split('"xyx"').length - 1]).toEqual([at, texts.length]);
      await page.locator("label", { hasText: /^Form$/ }).click();
      await page.getByRole("button", { name: /^Call/ }).click();
      await page.getByRole("heading", { name: `Step ${at + 1}` }).waitFor();
      expect([at, (await sent(page))["arguments"]]).toEqual([at, shown]);
      await page.getByRole("tab", { name: "Step" }).click();
      await page.locator(".pane--step .badge--ok").waitFor();
    }
    expect(typed).toBeGreaterThan(4);
  });
});

/** Text in reset options, in a tool's argument and in a union. */
const writer = defineEnvironment(
  defineContract({
    name: "writer_env",
    reset: z.object({ notes: z.string().default("") }),
    observation: z.object({}),
    tools: defineTools({
      write: {
        description: "Writes.",
        input: z.object({ text: z.string(), either: z.union([z.string().min(3), z.int()]) }),
        output: z.string(),
      },
    }),
  }),
  () => ({ reset: () => ({ observation: {} }), tools: { write: () => "written" } }),
);

async function typeLines(page: Page, field: string): Promise<void> {
  await page.locator(field).focus();
  await page.keyboard.type("one");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("two");
}

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

/** The action of the latest step in the raw frame. */
async function sent(page: Page, heading: string | RegExp = /^Step \d/): Promise<Record<string, unknown>> {
  await page.getByRole("heading", { name: heading }).waitFor();
  await page.getByRole("tab", { name: "Raw JSON" }).click();
  const text = await page.locator(".frame").first().locator("pre").innerText();
  return (JSON.parse(text) as { data: Record<string, unknown> }).data;
}
