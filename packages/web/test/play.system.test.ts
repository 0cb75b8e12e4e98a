import { readFile } from "node:fs/promises";
import { defineContract, defineEnvironment } from "openenv-ts";
import type { Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import benchmark from "../../../envs/benchmark/server/environment.js";
import echo from "../../../envs/echo/server/environment.js";
import wordle from "../../../envs/wordle/server/environment.js";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { defineDesk } from "../../../test-support/environments/tool-environment.js";
import { exported, requireChromium, reset, stateRead, steps, usePages } from "./pages.js";

const chromium = await requireChromium();
/** A seed of Wordle whose word no test guesses. */
const NONE_OF_THESE = 42;

describe.skipIf(!chromium.available)("Play", () => {
  const { start, open, expectProblem } = usePages(chromium);

  test("plays an echo episode with the environment's own action", async () => {
    const page = await open(await start(echo));
    await page.getByRole("link", { name: "Use echo_env from code" }).waitFor();
    await reset(page);
    expect(await page.getByRole("option", { name: /^action/ }).getAttribute("aria-selected")).toBe("true");
    await page.getByLabel("Message").fill("hello");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    expect(await page.locator(".measures").innerText()).toMatch(/Reward\s+0\.50\s+Done\s+false/);
    expect(await page.locator(".pane--step").innerText()).toContain("echoed_message");
    expect(await steps(page).last().innerText()).toContain("hello");
    await page.getByText("Step 1, reward 0.50, not done").waitFor({ state: "attached" });
  });

  test("plays a benchmark episode, whose fields all have defaults", async () => {
    const page = await open(await start(benchmark));
    await reset(page);
    await page.getByRole("button", { name: /^Send/ }).click();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    const shown = await page.locator(".pane--step").innerText();
    expect(shown).toContain("session_hash");
    expect(shown).toContain("waited_seconds");
  });

  test("plays a wordle episode: marked letters, reward parts, plot and end", async () => {
    const page = await open(await start(wordle));
    await reset(page, NONE_OF_THESE);
    const guess = page.getByLabel("Message");
    for (const [at, word] of ["[crane]", "[slate]", "[pound]", "[might]", "[jolly]", "[fizzy]"].entries()) {
      await guess.fill(word);
      await guess.press("Enter");
      await page.getByRole("heading", { name: `Step ${at + 1}` }).waitFor();
    }
    expect(await page.locator(".pane--step .mk").count()).toBeGreaterThan(4);
    await page.locator(".plot canvas").waitFor();
    expect(await page.getByRole("img", { name: /^Reward of each step/ }).count()).toBe(1);
    expect(await page.getByText("Done after 6 steps").count()).toBe(1);
    expect(await page.locator(".signed > div").count()).toBeGreaterThan(1);
  });

  test("calls tools: each has its form, and an error is shown as an error", async () => {
    const { environment } = defineDesk();
    const page = await open(await start(environment));
    await reset(page);
    const tools = page.getByRole("listbox", { name: "Tools" });
    await tools.getByRole("option").first().waitFor();
    expect(await tools.getByRole("option").count()).toBe(Object.keys(environment.contract.tools).length);
    await page.getByLabel("Find a tool").fill("greet");
    expect(await tools.getByRole("option").count()).toBe(1);
    await tools.getByRole("option", { name: /^greet/ }).click();
    await page.getByLabel("Name").fill("Ada");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    expect(await page.locator(".pane--step").innerText()).toContain("Ada");
    await page.getByLabel("Find a tool").fill("fail");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByLabel("Why").fill("on purpose");
    await page.keyboard.press("Enter");
    await page.getByText(/^The call failed/).waitFor();
    expect(await steps(page).last().getAttribute("class")).toContain("is-error");
  });

  test("an action can be written as JSON, and form and JSON share one value", async () => {
    const page = await open(await start(echo));
    await reset(page);
    await page.getByRole("option", { name: /^action/ }).click();
    await page.getByLabel("Message").fill("one");
    await page.locator("label", { hasText: /^JSON$/ }).click();
    const json = page.getByLabel("Action as JSON");
    expect(JSON.parse(await json.inputValue())).toEqual({ message: "one" });
    await json.fill('{ "message": ');
    await json.press("Control+Enter");
    await page.getByText(/^This is not valid JSON/).waitFor();
    await json.fill('{ "message": "two" }');
    await json.press("Control+Enter");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.locator("label", { hasText: /^Form$/ }).click();
    expect(await page.getByLabel("Message").inputValue()).toBe("two");
  });

  test("invalid JSON stays with its tool, and so does its error", async () => {
    const page = await open(await start(defineDesk().environment));
    await reset(page);
    await page.getByRole("option", { name: /^greet/ }).click();
    await page.locator("label", { hasText: /^JSON$/ }).click();
    const json = page.getByLabel("Action as JSON");
    await json.fill("{");
    await json.press("Control+Enter");
    await page.getByText("1 field to correct").waitFor();
    await page.getByRole("option", { name: /^fail/ }).click();
    await page.getByRole("heading", { name: "fail", exact: true }).waitFor();
    expect(await json.inputValue()).toBe("{}");
    expect(await page.getByText("1 field to correct").count()).toBe(0);
  });

  test("a schema that failed to load can be requested again, and an older response changes nothing", async () => {
    expectProblem(/ERR_FAILED/);
    const page = await open(await start(defineDesk().environment));
    await page.route("**/schema", (route) => route.abort());
    await page.reload();
    await page.getByText("The form could not be created.").waitFor();
    await page.unroute("**/schema");
    await page.getByRole("button", { name: "Try again" }).click();
    const again = page.getByRole("button", { name: "List again" });
    await again.waitFor();
    const held: Route[] = [];
    await page.route("**/schema", (route) => {
      if (held.length > 0) return route.continue();
      held.push(route);
    });
    await again.click();
    await expect.poll(() => held.length, { timeout: 20_000 }).toBe(1);
    const newer = page.waitForResponse("**/schema");
    await again.click();
    await newer;
    await held[0]?.abort();
    await page.getByRole("link", { name: "About" }).click();
    await page.getByRole("heading", { name: "Schemas" }).waitFor();
    expect(await page.getByText("The schemas could not be read.").count()).toBe(0);
  });

  test("the first field does not take the focus from a visitor who types already", async () => {
    const page = await open(await start(wordle));
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route("**/schema-form*.js", (route) => released.then(() => route.continue()));
    await page.reload();
    await page.getByRole("button", { name: "Reset options", exact: true }).click();
    await page.keyboard.type("1");
    release();
    await page.getByLabel("Message").waitFor();
    // The focus would move a moment after the form has loaded.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
    await page.keyboard.type("2");
    expect(await page.getByLabel("Seed").inputValue()).toBe("12");
  });

  test("a view that a page translator broke shows an error, and recovers with its timeline", async () => {
    expectProblem(/removeChild/);
    const page = await open(await start(defineCounter().environment));
    await reset(page);
    await page.getByLabel("Amount").fill("10");
    await page.getByLabel("Amount").press("Enter");
    const badge = page.locator(".episode .badge", { hasText: "Done" });
    await badge.waitFor();
    // A browser's page translation does this to every text.
    await badge.evaluate((shown) => shown.lastChild?.replaceWith(document.createElement("font")));
    await page
      .getByRole("button", { name: /^Reset/ })
      .first()
      .click();
    await page.getByText("Play could not be shown").waitFor();
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Server" }).click();
    await page.getByText("This view is for the operator").waitFor();
    await page.getByRole("link", { name: "Play" }).click();
    await page.getByRole("button", { name: "Try again" }).click();
    await steps(page).nth(2).waitFor();
    expect((await readFile(await exported(page), "utf8")).trimEnd().split("\n")).toHaveLength(2);
  });

  test("a step that is sent during a state request comes after it", async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const contract = defineContract({
      name: "slow_state_env",
      action: z.object({ word: z.string() }),
      observation: z.object({}),
      state: z.object({ read: z.boolean() }),
    });
    const environment = defineEnvironment(contract, () => ({
      reset: () => ({ observation: {} }),
      step: () => ({ observation: {} }),
      state: () => released.then(() => ({ read: true })),
    }));
    const page = await open(await start(environment));
    await page.getByLabel("Word").fill("quick");
    await page
      .getByRole("button", { name: /^Reset/ })
      .first()
      .click();
    await page.getByText("Episode 1 started").waitFor({ state: "attached" });
    await page.getByLabel("Word").press("Enter");
    // A state that takes long is not read after each step.
    await page.waitForTimeout(300);
    release();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.locator(".pane--state", { hasText: "after step 0, older" }).waitFor();
  });

  test("the author's actions are one click away", async () => {
    const page = await open(await start(echo));
    // The page stops reading the state after each step when a read was slow; here every read is fast.
    await page.addInitScript(() => {
      const now = performance.now.bind(performance);
      performance.now = () => now() / 100;
    });
    await page.reload();
    await reset(page);
    await page.getByRole("option", { name: /^action/ }).click();
    await page.getByLabel("Message").fill("hello");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.getByRole("button", { name: "Say it again" }).click();
    await page.getByRole("heading", { name: "Step 2" }).waitFor();
    expect(await steps(page).last().innerText()).toContain("hello");
    await stateRead(page, 2);
  });

  test("everything can be done with the keyboard alone", async () => {
    const page = await open(await start(wordle));
    await page
      .getByRole("button", { name: /^Reset/ })
      .first()
      .waitFor();
    await page.getByText("Connected").waitFor();
    // The field gets the focus a moment after it has loaded.
    await page.locator("#action :focus").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("r");
    await page.getByText(/Episode 1 started/).waitFor({ state: "attached" });
    await stateRead(page);
    await page.keyboard.press("/");
    await page.keyboard.type("[crane]");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.keyboard.press("Alt+ArrowUp");
    await page.getByRole("heading", { name: "Reset", exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.keyboard.press("d");
    await page.getByRole("heading", { name: "Changed since the reset" }).waitFor();
    await page.keyboard.press("3");
    await page.getByText("Sent", { exact: true }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+R");
    await page.getByRole("dialog", { name: "Reset options" }).locator(":focus").waitFor();
    await page.keyboard.type("7");
    await page.keyboard.press("Enter");
    await page.getByText(/Episode 2 started/).waitFor({ state: "attached" });
    expect(await page.locator(".facts").innerText()).toMatch(/Seed\s+7/);
    await page.getByRole("link", { name: "About" }).press("Enter");
    await page.getByRole("heading", { name: "Facts" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  });
});
