import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineContract, defineEnvironment, defineTools } from "openenv-ts";
import { type EpisodeRecord, renderEpisode } from "openenv-ts/protocol";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { imported, partsLoaded, requireChromium, reset, steps, usePages } from "./pages.js";
import { HOSTILE } from "./zoo.js";

const chromium = await requireChromium();

const node = z.object({
  value: z.string().default(""),
  get children() {
    return z.array(node).default([]);
  },
});
const tools = defineTools({
  shout: { description: HOSTILE, input: z.object({ text: z.string().describe(HOSTILE) }), output: z.string() },
});
const contract = defineContract({
  name: "hostile_env",
  description: HOSTILE,
  action: z.object({
    word: z.string().describe(HOSTILE).meta({ title: HOSTILE }),
    mark: z.enum([HOSTILE, "plain"]).default("plain"),
    default: z.string().nullable().default(null),
    properties: z.object({ type: z.string().default("t") }).default({ type: "t" }),
    constructor: z.int().default(1),
    tree: node.default({ value: "", children: [] }),
  }),
  observation: z.object({ [HOSTILE]: z.string().default(HOSTILE), large: z.array(z.int()).default([]) }),
  tools,
});

/** Returns only text that is markup in some context. */
const environment = defineEnvironment(
  contract,
  () => ({
    reset: () => ({ observation: {} }),
    step: ({ word }) => {
      if (word === "fail") throw new Error(HOSTILE);
      if (word === "large") return { observation: { large: Array.from({ length: 1_000_000 }, (_, at) => at) } };
      return { observation: {}, metadata: { [HOSTILE]: HOSTILE } };
    },
    render: () => [
      {
        kind: "text",
        runs: [
          { text: HOSTILE, tone: "positive" },
          { text: HOSTILE, mono: true },
        ],
      },
      {
        kind: "image",
        src: `data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" onload="top.document.title='owned'"/>`,
        alt: HOSTILE,
      },
    ],
    // The cast is needed because every object has a constructor for the compiler.
    actions: () => [{ label: HOSTILE, action: { word: HOSTILE } as never }],
    tools: { shout: ({ text }) => `${text} ${HOSTILE}` },
  }),
  { readme: HOSTILE },
);

describe.skipIf(!chromium.available)("a hostile", () => {
  const { start, open } = usePages(chromium);

  test("environment can only show text: marks, names, titles, labels, errors, tools, README", async () => {
    const page = await open(await start(environment));
    await reset(page);
    const shown = page.locator(".pane--step");
    expect(await shown.innerText()).toContain(HOSTILE);
    await page.getByRole("button", { name: HOSTILE }).click();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.getByRole("option", { name: /^action/ }).click();
    await page.locator("#action_word").fill("fail");
    await page.locator("#action_word").press("Enter");
    await shown.getByText("The environment failed during this step").waitFor();
    expect(await shown.innerText()).toContain(HOSTILE);
    for (const tab of ["Diff", "Raw JSON"]) await page.getByRole("tab", { name: tab }).click();
    await page.getByRole("option", { name: /^shout/ }).click();
    await page.locator("#action_text").fill(HOSTILE);
    await page.locator("#action_text").press("Enter");
    await steps(page).nth(3).waitFor();
    await page.getByRole("link", { name: "About" }).click();
    await page.locator(".prose").getByText("<img src=x").waitFor();
    expect(await page.title()).toBe("About · hostile_env");
    expect(await page.locator("body script, img[src=x], [onerror], [onload]").count()).toBe(0);
  });

  test("schema still produces a form: names of keywords, a recursive schema", async () => {
    const page = await open(await start(environment));
    await reset(page);
    await page.getByRole("option", { name: /^action/ }).click();
    await page.locator("#action_word").fill("hello");
    await page.getByLabel("Default").fill("text");
    await page.getByLabel("Properties").selectOption({ label: "Fill in" });
    await page.getByLabel("Type").fill("kind");
    await page.getByLabel("Constructor").fill("7");
    await page.getByLabel("Tree").selectOption({ label: "Fill in" });
    await page.getByRole("button", { name: "Add children" }).click();
    await page.locator("#action_tree_children_0_value").fill("leaf");
    await page
      .getByRole("button", { name: /^Call|^Send/ })
      .first()
      .click();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.getByRole("tab", { name: "Raw JSON" }).click();
    const frame = JSON.parse(await page.locator(".frame").first().locator("pre").innerText());
    expect(frame.data).toMatchObject({
      word: "hello",
      default: "text",
      properties: { type: "kind" },
      constructor: 7,
      tree: { children: [{ value: "leaf" }] },
    });
  });

  test("size of an observation leaves the page usable: a million numbers are collapsed everywhere", async () => {
    const page = await open(await start(environment));
    await reset(page);
    await page.getByRole("option", { name: /^action/ }).click();
    for (const word of ["large", "large", "small"]) {
      const before = await steps(page).count();
      await page.locator("#action_word").fill(word);
      await page.locator("#action_word").press("Enter");
      await steps(page).nth(before).waitFor();
    }
    await steps(page).nth(2).click();
    // The author's view is shown first.
    await page
      .locator(".pane--step")
      .getByRole("button", { name: /^Show \d+ fields$/ })
      .last()
      .click();
    await page.getByText("1,000,000 numbers").waitFor();
    for (const tab of ["Diff", "Raw JSON", "Step"]) await page.getByRole("tab", { name: tab }).click();
    expect((await steps(page).nth(2).innerText()).length).toBeLessThan(400);
    expect(await page.locator("*").count()).toBeLessThan(3_000);
  });

  test("file is rejected with a message, or shown without harm", async () => {
    const page = await open(await start(environment));
    await reset(page);
    for (const [text, words] of [
      ["\u0000\u0001PNG garbage", /Line 1 is not a valid episode: it is not valid JSON/],
      [`${"[".repeat(100_000)}`, /Line 1 is not a valid episode/],
      [renderEpisode({ ...EPISODE, reset: { a: nest(3_000) } }), /nested deeper than 1000 levels/],
      ["", /The file contains no episode/],
    ] as const) {
      await imported(page, await fileOf(text));
      await page.getByText(words).waitFor();
      await page.getByRole("button", { name: "Close" }).click();
    }
    await imported(page, await fileOf(`${renderEpisode(EPISODE)}\n`));
    await page.getByText("Read-only: 1 episode, 4 steps.").waitFor();
    for (let at = 0; at < 5; at++) {
      await steps(page).nth(at).click();
      for (const tab of ["Diff", "Raw JSON", "Step"]) await page.getByRole("tab", { name: tab }).click();
      await partsLoaded(page);
    }
    expect(await page.getByText(/could not be shown/).count()).toBe(0);
    await page.getByRole("button", { name: "Reset options", exact: true }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByText(/is the first that differs/).waitFor();
    await page.getByRole("button", { name: "Back to the session" }).click();
    expect(await steps(page).count()).toBe(1);
    expect(await page.title()).toBe("Play · hostile_env");
  });
});

/** JavaScript cannot convert it to a string. */
const WORDLESS = { toString: 1, valueOf: 1, toJSON: 1 };
const ANSWER = { observation: { a: HOSTILE }, reward: null, done: false, ms: 1e300 };
const EPISODE = {
  format: "openenv.episode/2",
  episode: 0,
  environment: HOSTILE,
  url: "javascript:document.title='owned'",
  started_at: "never",
  reset: { seed: WORDLESS, split: WORDLESS, index: WORDLESS },
  start: { ...ANSWER, observation: { deep: nest(900) } },
  steps: [
    { action: { type: "call_tool", tool_name: WORDLESS, arguments: [] }, ...ANSWER, reward: 1e308 },
    {
      action: {},
      ...ANSWER,
      observation: { tool_name: "x", result: null, error: { error_type: WORDLESS, message: WORDLESS } },
      reward: -1e308,
    },
    {
      action: { text: "x".repeat(1_000_000) },
      ...ANSWER,
      metadata: { reward_signals: Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`s${at}`, at])) },
    },
    { action: JSON.parse('{"__proto__":{"a":1}}'), ...ANSWER, observation: { picture: "data:image/png;base64,AAAA" } },
  ],
  total_reward: 0,
  end: "policy",
} as unknown as EpisodeRecord;

function nest(depth: number): unknown {
  return depth === 0 ? "end" : [nest(depth - 1)];
}

let files = 0;

async function fileOf(text: string): Promise<string> {
  const file = join(tmpdir(), `openenv-hostile-${process.pid}-${files++}.jsonl`);
  await writeFile(file, text);
  return file;
}
