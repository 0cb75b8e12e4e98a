import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import echo from "../../envs/echo/server/environment.js";
import wordle from "../../envs/wordle/server/environment.js";
import { defineCounter } from "../../openenv/test-support/counter.js";
import { PHONE, requireChromium, reset, steps, usePages } from "./pages.js";
import { startProxy } from "./proxy.js";

const chromium = await requireChromium();

describe.skipIf(!chromium.available)("visitors", () => {
  const { start, open } = usePages(chromium);

  test("two do not see each other's state", async () => {
    const server = await start(defineCounter().environment);
    const [ada, ben] = [await open(server), await open(server)];
    await reset(ada);
    await reset(ben);
    await add(ada, 4);
    await add(ben, 1);
    await ada.locator(".pane--step", { hasText: /count\s*4/ }).waitFor();
    await ben.locator(".pane--step", { hasText: /count\s*1/ }).waitFor();
    await ada.getByRole("button", { name: /^Refresh/ }).click();
    await ada.locator(".pane--state", { hasText: '"total": 4' }).waitFor();
    expect((await (await fetch(`${server.url}/health`)).json()) as unknown).toMatchObject({ status: "healthy" });
  });

  test("a server that restarts while the page is open loses nothing of the timeline", async () => {
    const first = await start(defineCounter().environment);
    const port = Number(new URL(first.url).port);
    const page = await open(first);
    await reset(page);
    await add(page, 2);
    await page.getByLabel("Amount").fill("5");
    await first.close();
    await page.getByText("Connection lost.").waitFor();
    await page.locator(".ep", { hasText: "Cut off" }).waitFor();
    expect(await steps(page).count()).toBe(2);
    expect(await page.getByLabel("Amount").inputValue()).toBe("5");
    await start(defineCounter().environment, { port });
    await page.getByRole("button", { name: "Reconnect now" }).click();
    await page.getByText("Connected", { exact: true }).waitFor();
    await reset(page);
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    await page.locator(".pane--step", { hasText: /count\s*5/ }).waitFor();
    expect(await page.locator(".tl .ep b").allInnerTexts()).toEqual(["Episode 1", "Connection lost", "Episode 2"]);
  });

  test("the page reconnects by itself", async () => {
    const first = await start(echo);
    const port = Number(new URL(first.url).port);
    const page = await open(first);
    await page.getByText("Connected", { exact: true }).waitFor();
    await first.close();
    await page.getByText("Connection lost.").waitFor();
    await start(echo, { port });
    await page.getByText("Connected", { exact: true }).waitFor();
  });

  test("a server without a free place says so, and the session starts when there is one", async () => {
    const server = await start(echo, { maxConcurrentEnvs: 1 });
    const first = await open(server);
    await first.getByText("Connected", { exact: true }).waitFor();
    const second = await open(server);
    await second.getByText("All 1 places are taken.").waitFor();
    await first.close();
    await second.getByText("Connected", { exact: true }).waitFor();
  });

  test("a step that takes long counts the seconds, and can be given up", async () => {
    const page = await open(await start(defineCounter().environment));
    await reset(page);
    await add(page, 60);
    await page.getByText(/^Waiting \d\.\d s/).waitFor();
    await page.getByRole("button", { name: "Give up and open a new session" }).click();
    await page.locator(".ep", { hasText: "Session given up" }).waitFor();
    await reset(page);
    await add(page, 1);
    await page.locator(".pane--step", { hasText: /count\s*1/ }).waitFor();
  });

  test("under a prefix of a proxy the page still finds its server", async () => {
    await using proxy = await startProxy(await start(echo), "/spaces/echo");
    const page = await open(proxy, { path: "/spaces/echo" });
    await reset(page);
    await page.getByRole("option", { name: /^action/ }).click();
    await page.getByLabel("Message").fill("behind a proxy");
    await page.getByLabel("Message").press("Enter");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
  });

  test("on a phone one column is enough, and nothing is wider than the screen", async () => {
    const page = await open(await start(wordle), { size: PHONE });
    await reset(page);
    await page.getByLabel("Message").fill("[crane]");
    await page.getByRole("button", { name: /^Send/ }).click();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(PHONE.width);
    await page.locator("label", { hasText: /^Timeline$/ }).tap();
    await steps(page).first().waitFor();
    await page.locator("label", { hasText: /^State$/ }).tap();
    await page.getByRole("heading", { name: "State" }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(PHONE.width);
    const small = await page
      .locator("button:visible")
      .evaluateAll((buttons) =>
        buttons.filter((button) => button.getBoundingClientRect().height < 28).map((button) => button.textContent),
      );
    expect(small).toEqual([]);
  });
});

describe.skipIf(!chromium.available)("the timeline", () => {
  const { start, open } = usePages(chromium);

  test("is exported as episodes, imported to look at, and replayed to the same end", async () => {
    const server = await start(wordle);
    const page = await open(server);
    await page.getByRole("button", { name: "Reset options", exact: true }).click();
    await page.getByLabel("Seed").fill("42");
    await page.keyboard.press("Enter");
    await page.getByText("Episode 1 started").waitFor({ state: "attached" });
    for (const word of ["[crane]", "[slate]"]) {
      await page.getByLabel("Message").fill(word);
      await page.getByLabel("Message").press("Enter");
      await page.getByText(word).first().waitFor();
    }
    const file = await exported(page);
    const [line = ""] = (await readFile(file, "utf8")).split("\n");
    expect(JSON.parse(line)).toMatchObject({
      format: "openenv.episode/1",
      environment: "wordle_env",
      url: server.url,
      reset: { seed: 42 },
      steps: [{ action: { message: "[crane]" } }, { action: { message: "[slate]" } }],
    });

    const visitor = await open(server);
    await visitor.getByText("Connected", { exact: true }).waitFor();
    await imported(visitor, file);
    await visitor.getByText("Read-only: 1 episode, 2 steps.").waitFor();
    expect(await steps(visitor).count()).toBe(3);
    await visitor.getByRole("button", { name: "Replay" }).click();
    await visitor.getByText("Every step is the same as recorded").waitFor();
    await visitor.getByRole("button", { name: "Back to the session" }).click();
    expect(await steps(visitor).count()).toBe(0);
  });

  test("a replay marks the first step that differs, and stops there", async () => {
    const server = await start(wordle);
    const page = await open(server);
    await reset(page);
    for (const word of ["[crane]", "[slate]", "[pound]"]) {
      await page.getByLabel("Message").fill(word);
      await page.getByLabel("Message").press("Enter");
      await page.getByText(word).first().waitFor();
    }
    const record = JSON.parse((await readFile(await exported(page), "utf8")).split("\n")[0] as string);
    record.reset = {};
    record.steps[1].reward = 77;
    const file = join(tmpdir(), `openenv-differs-${process.pid}.jsonl`);
    await writeFile(file, `${JSON.stringify(record)}\n`);
    await imported(page, file);
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByText(/is the first that differs/).waitFor();
    await page.getByRole("button", { name: "Show diff" }).click();
    expect(await page.locator(".diff .path").count()).toBeGreaterThan(0);
    expect(await page.getByText("Not played").count()).toBeGreaterThan(0);
  });

  test("a file that is none is refused in words, and nothing is lost", async () => {
    const page = await open(await start(echo));
    await reset(page);
    const file = join(tmpdir(), `openenv-broken-${process.pid}.jsonl`);
    await writeFile(file, '{"format":"openenv.episode/1"}\n');
    await imported(page, file);
    await page.getByText("The file could not be read.").waitFor();
    await page.getByText(/Line 1 is no episode/).waitFor();
    expect(await steps(page).count()).toBe(1);
  });

  test("ten thousand steps stay smooth: only the rows on the screen are made", async () => {
    const server = await start(echo);
    const page = await open(server);
    const step = { action: { message: "x" }, observation: { echoed_message: "x" }, reward: 1, done: false, ms: 1 };
    const record = {
      format: "openenv.episode/1",
      episode: 0,
      environment: "echo_env",
      url: server.url,
      started_at: new Date(0).toISOString(),
      reset: {},
      start: { observation: {}, reward: null, done: false, ms: 1 },
      steps: Array.from({ length: 10_000 }, () => step),
      total_reward: 10_000,
      end: "policy",
    };
    const file = join(tmpdir(), `openenv-long-${process.pid}.jsonl`);
    await writeFile(file, `${JSON.stringify(record)}\n`);
    await imported(page, file);
    await page.getByText("Read-only: 1 episode, 10,000 steps.").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+G");
    await page.getByRole("heading", { name: "Step 10000" }).waitFor();
    expect(await steps(page).count()).toBeLessThan(80);
    await page.keyboard.press("k");
    await page.getByRole("heading", { name: "Step 9999" }).waitFor();
  });

  test("a new step moves nothing for those who look at an older one", async () => {
    const page = await open(await start(defineCounter().environment));
    await reset(page);
    await add(page, 1);
    await add(page, 1);
    await page.getByRole("heading", { name: "Step 2" }).waitFor();
    await steps(page).nth(1).click();
    await add(page, 1);
    await page.getByRole("button", { name: "1 new step" }).waitFor();
    expect(await page.getByRole("heading", { name: "Step 1" }).count()).toBe(1);
    await page.getByRole("button", { name: "1 new step" }).click();
    await page.getByRole("heading", { name: "Step 3" }).waitFor();
  });
});

async function add(page: Page, amount: number): Promise<void> {
  await page.getByLabel("Amount").fill(String(amount));
  await page.getByLabel("Amount").press("Enter");
}

async function exported(page: Page): Promise<string> {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  return (await download).path();
}

async function imported(page: Page, file: string): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Import" }).click();
  await (await chooser).setFiles(file);
}
