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

async function add(page: Page, amount: number): Promise<void> {
  await page.getByLabel("Amount").fill(String(amount));
  await page.getByLabel("Amount").press("Enter");
}
