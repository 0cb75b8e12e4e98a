import { defineContract, defineEnvironment } from "openenv-ts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { requireChromium, reset, steps, usePages } from "./pages.js";
import zoo, { HOSTILE } from "./zoo.js";

const chromium = await requireChromium();

describe.skipIf(!chromium.available)("a form", () => {
  const { start, open } = usePages(chromium);

  test("has an input for every kind of schema, and sends valid values", async () => {
    const page = await open(await start(zoo));
    await reset(page);
    // The Enter key of a phone's keyboard sends; in a text area it would add a line.
    for (const [label, mode] of [
      ["Count", "numeric"],
      ["Ratio", "decimal"],
    ] as const) {
      expect(await page.getByLabel(label).getAttribute("inputmode")).toBe(mode);
    }
    await page.getByLabel("Name").fill("giraffe");
    await page.getByLabel("Count").fill("7");
    await page.getByLabel("Ratio").fill("0.25");
    await page.getByLabel("Flag").check();
    await page.getByLabel("Color").selectOption({ label: "green" });
    await page.getByLabel("Note").fill("tall");
    await page.getByRole("button", { name: "Add tag" }).click();
    await page.locator("#action_tags_0").fill("spots");
    await page.getByLabel("m", { exact: true }).check();
    await page.getByRole("button", { name: "Add point" }).click();
    await page.locator("#action_points_0_x").fill("1.5");
    await page.getByRole("button", { name: "Add field" }).click();
    await page.getByLabel(/^Name of the field/).fill("stripes");
    await page.getByLabel(/^Name of the field/).blur();
    await page.locator("#action_extra_stripes").fill("12");
    await page.getByLabel("Shape").selectOption({ label: "circle" });
    await page.locator("#action_shape_radius").fill("0.50");
    await page.getByLabel("Either").selectOption({ label: "integer" });
    await page.locator("#action_either").fill("8");
    await page.getByLabel("Pair").selectOption({ label: "Fill in" });
    await page.locator("#action_pair_0").fill("zebra");
    await page.locator("#action_pair_1").fill("2");
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    const action = await sent(page);
    expect(action).toMatchObject({
      name: "giraffe",
      code: "ABC",
      count: 7,
      ratio: 0.25,
      flag: true,
      color: "green",
      fixed: "zoo",
      note: "tall",
      tags: ["spots"],
      sizes: ["m"],
      points: [{ x: 1.5, y: 0 }],
      extra: { stripes: 12 },
      shape: { kind: "circle", radius: 0.5 },
      either: 8,
      pair: ["zebra", 2],
    });
    expect(action).not.toHaveProperty("mail");
  });

  test("sends an optional field only when it was filled in", async () => {
    const page = await open(await start(zoo));
    await reset(page);
    await page.getByLabel("Name").fill("lion");
    await page.getByLabel("Color").selectOption({ label: "red" });
    await page.getByLabel("Home").selectOption({ label: "Fill in" });
    await page.locator("#action_home_x").fill("2");
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    const action = await sent(page);
    expect(action).toMatchObject({ name: "lion", home: { x: 2 } });
    for (const name of ["mail", "ratio", "shape", "either", "pair"]) expect(action).not.toHaveProperty(name);
  });

  test("starts with the author's example, which can be sent at once", async () => {
    const action = z.object({ word: z.string().meta({ examples: ["[crane]"] }) });
    const contract = defineContract({ name: "example_env", action, observation: z.object({ text: z.string() }) });
    const environment = defineEnvironment(contract, () => ({
      reset: () => ({ observation: { text: "" } }),
      step: ({ word }) => ({ observation: { text: word } }),
    }));
    const page = await open(await start(environment));
    await reset(page);
    expect(await page.getByLabel("Word").inputValue()).toBe("[crane]");
    await page.getByLabel("Word").press("Enter");
    expect(await sent(page)).toEqual({ word: "[crane]" });
    await page.locator("label", { hasText: /^JSON$/ }).click();
    expect(JSON.parse(await page.getByLabel("Action as JSON").inputValue())).toEqual({ word: "[crane]" });
    await page.getByRole("link", { name: "About" }).click();
    await page.getByText('await env.step({ word: "[crane]" })').waitFor();
  });

  test.each([
    [
      "discriminated",
      z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("query"), sql: z.string().refine((sql) => sql !== "drop", "Not that") }),
        z.object({ kind: z.literal("answer"), value: z.int(), sure: z.boolean().default(false) }),
      ]),
      { query: { kind: "query" }, answer: { kind: "answer" } },
      ["Query", "Answer"],
    ],
    [
      "plain",
      z.union([
        z.object({ sql: z.string().refine((sql) => sql !== "drop", "Not that") }).meta({ title: "Query" }),
        z.object({ value: z.int(), sure: z.boolean().default(false) }).meta({ title: "Answer" }),
      ]),
      { query: {}, answer: {} },
      ["Query", "Answer"],
    ],
  ] as const)("of a %s union has a choice of the variant, then its fields", async (_what, action, tags, names) => {
    const contract = defineContract({ name: "sql_env", action, observation: z.object({}) });
    const environment = defineEnvironment(contract, () => ({
      reset: () => ({ observation: {} }),
      step: () => ({ observation: {} }),
    }));
    const page = await open(await start(environment));
    await reset(page);
    const kind = page.getByLabel("Kind");
    await kind.waitFor();
    expect(await kind.locator("option").allInnerTexts()).toEqual(names);
    const send = page.getByRole("button", { name: /^Send ↵/ });
    await page.getByLabel("Sql").fill("drop");
    await send.click();
    await page.locator(".err", { hasText: "Not that" }).first().waitFor();
    await page.getByLabel("Sql").fill("select 1");
    await send.click();
    await expect.poll(() => steps(page).count()).toBe(3);
    expect(await sent(page)).toEqual({ ...tags.query, sql: "select 1" });
    await kind.selectOption({ label: "Answer" });
    expect(await page.getByLabel("Sql").count()).toBe(0);
    await page.getByLabel("Value").fill("4");
    await send.click();
    await expect.poll(() => steps(page).count()).toBe(4);
    expect(await sent(page)).toEqual({ ...tags.answer, value: 4, sure: false });
    await page.getByRole("link", { name: "About" }).click();
    await page.getByRole("heading", { name: "Answer" }).waitFor();
    expect(await page.locator("td", { hasText: /^value$/ }).count()).toBe(1);
  });

  test("shows an error at each invalid field before it is sent, and focuses the first one", async () => {
    const page = await open(await start(zoo));
    await reset(page);
    await page.getByLabel("Name").fill("x");
    expect(await page.locator(".err").count()).toBe(0);
    await page.getByLabel("Count").fill("12");
    await page.getByLabel("Count").blur();
    await page.getByText("Must be at most 10.").waitFor();
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    await page.getByText("Must have at least 2 characters.").waitFor();
    await page.getByText(/fields to correct/).waitFor();
    await page.locator("#action_name:focus").waitFor();
    expect(await steps(page).count()).toBe(1);
  });

  test("shows the error of a rule that only the server knows at its field", async () => {
    const page = await open(await start(zoo));
    await reset(page);
    await page.getByLabel("Name").fill("taken");
    await page.getByLabel("Color").selectOption({ label: "red" });
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    await page.locator("#action_name__error", { hasText: "This name is taken" }).waitFor();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.locator(".pane--step", { hasText: "The action is not valid" }).waitFor();
    await page.getByLabel("Name").fill("free");
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    await page.locator("#action_name__error").waitFor({ state: "detached" });
  });

  test("shows an error of the environment in the step, and the session continues", async () => {
    const page = await open(await start(zoo));
    await reset(page);
    await page.getByLabel("Name").fill("fail");
    await page.getByLabel("Color").selectOption({ label: "red" });
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    await page.getByText("The environment failed during this step").waitFor();
    const shown = await page.locator(".pane--step").innerText();
    expect(shown).toContain("this name fails");
    expect(shown).not.toMatch(/Reward/);
    await page.getByLabel("Name").fill("okay");
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
  });

  test("ends an episode with a green tick only for a total above zero", async () => {
    const action = z.object({ reward: z.number() });
    const contract = defineContract({ name: "ends_env", action, observation: z.object({}) });
    const environment = defineEnvironment(contract, () => ({
      reset: () => ({ observation: {} }),
      step: ({ reward }) => ({ observation: {}, reward, done: true }),
    }));
    const page = await open(await start(environment));
    const badge = page.getByRole("region", { name: "Episode" }).locator(".badge", { hasText: "Done" });
    for (const [reward, ticks] of [
      ["-0.5", 0],
      ["0.5", 1],
    ] as const) {
      await reset(page);
      await page.locator("#action_reward").fill(reward);
      await page.getByRole("button", { name: /^Send/ }).click();
      await badge.waitFor();
      expect(await badge.locator("svg").count()).toBe(ticks);
    }
  });

  test("the reset has the options of the contract, the tasks, a seed and an episode id", async () => {
    const page = await open(await start(zoo));
    await page.getByRole("button", { name: "Reset options", exact: true }).click();
    await page.getByLabel("Seed").fill("42");
    await page.getByLabel("Split").selectOption("train");
    await page.getByText("Tasks 0 to 2.").waitFor();
    await page.getByLabel("Task", { exact: true }).fill("1");
    await page.getByLabel("Episode id").fill("mine");
    await page.getByLabel("Level").fill("4");
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Reset/ })
      .click();
    await page.getByText("Episode 1 started").waitFor({ state: "attached" });
    expect(await page.locator(".facts").innerText()).toMatch(/mine[\s\S]*42[\s\S]*train \/ 1/);
    await page.locator(".pane--state", { hasText: '"level": 4' }).waitFor();
  });

  test("shows the error of an invalid reset option at its field, and sends nothing", async () => {
    const page = await open(await start(zoo));
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Reset options", exact: true }).click();
    await page.getByLabel("Level").fill("99");
    await page.getByLabel("Level").press("Enter");
    await page.locator("#reset-own_level__error", { hasText: "Must be at most 5." }).waitFor();
    await page.getByText("1 field to correct").waitFor();
    expect(await steps(page).count()).toBe(0);
    await page.getByLabel("Level").fill("4");
    await page.getByLabel("Seed").fill("x");
    await page.getByLabel("Seed").press("Enter");
    await page.locator("#f-seed__error", { hasText: "Seed must be an integer." }).waitFor();
    await page.getByLabel("Seed").fill("9007199254740993");
    await page.getByLabel("Seed").press("Enter");
    await page.locator("#f-seed__error", { hasText: "Seed must be between" }).waitFor();
    await page.getByLabel("Seed").fill("7");
    await page.getByLabel("Seed").press("Enter");
    await page.getByText("Episode 1 started").waitFor({ state: "attached" });
    await page.locator(".pane--state", { hasText: '"level": 4' }).waitFor();
    expect(await steps(page).count()).toBe(1);
  });

  test("shows an option that only the server rejects once, and at its field with its value", async () => {
    const level = z.int().refine((value) => value !== 3, "Level 3 is closed");
    const observation = z.object({});
    const contract = defineContract({
      name: "levels_env",
      action: observation,
      observation,
      reset: z.object({ level }),
    });
    const play = () => ({ reset: () => ({ observation: {} }), step: () => ({ observation: {} }) });
    const page = await open(await start(defineEnvironment(contract, play)));
    const field = page.locator("#reset-own_level");
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Reset options", exact: true }).click();
    await field.fill("3");
    await field.press("Enter");
    await page.getByText("The reset options are not valid").waitFor();
    const text = await page.locator(".pane--step .note").innerText();
    expect(text.match(/Level 3 is closed/g)).toHaveLength(1);
    expect(text).toContain("level: Level 3 is closed. No new episode was started.");
    await page.getByText("Stopped", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Reset options", exact: true }).click();
    await page.locator("#reset-own_level__error", { hasText: "Level 3 is closed" }).waitFor();
    expect(await field.inputValue()).toBe("3");
    await field.fill("4");
    await field.press("Enter");
    await page.getByText(/Episode \d started/).waitFor({ state: "attached" });
  });

  test("observations are shown by type: pictures, long lists, trees, and text that is never markup", async () => {
    const page = await open(await start(zoo));
    await reset(page);
    await page.getByLabel("Name").fill("ok");
    await page.getByLabel("Color").selectOption({ label: "red" });
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    const picture = page.getByRole("img", { name: "Field picture of step 1" });
    await picture.waitFor();
    const decoded = (img: HTMLImageElement) => img.decode().then(() => img.naturalWidth);
    expect(await picture.evaluate(decoded)).toBe(2);
    await page.getByText("10,000 numbers").waitFor();
    await page.getByRole("button", { name: "Show the next 100" }).click();
    expect(await page.locator(".pane--step").innerText()).toContain(HOSTILE);
    expect(await page.title()).toBe("Play · zoo_env");
    expect(await page.locator(".pane--step script, .pane--step img[src=x]").count()).toBe(0);
  });
});

/** The action of the latest step in the raw frame. */
async function sent(page: Page): Promise<Record<string, unknown>> {
  await page.getByRole("heading", { name: /^Step \d/ }).waitFor();
  await page.getByRole("tab", { name: "Raw JSON" }).click();
  const text = await page.locator(".frame").first().locator("pre").innerText();
  return (JSON.parse(text) as { data: Record<string, unknown> }).data;
}
