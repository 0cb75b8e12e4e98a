import { defineContract, defineEnvironment } from "openenv-ts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import echo from "../../../envs/echo/server/environment.js";
import wordle from "../../../envs/wordle/server/environment.js";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { defineDesk } from "../../../test-support/environments/tool-environment.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { PHONE, requireChromium, reset, steps, usePages, width } from "./pages.js";
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

  test("a server that restarts while the page is open does not lose the timeline", async () => {
    const first = await start(defineCounter().environment, await anywhere());
    const port = Number(new URL(first.url).port);
    const page = await open(first);
    await reset(page);
    await add(page, 2);
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    // The code of the plot cannot be loaded while the server is away.
    await page.locator(".plot canvas").waitFor();
    await page.getByLabel("Amount").fill("5");
    await holdTimers(page);
    await first.close();
    await page.getByText("Connection lost.").waitFor();
    expect(await steps(page).count()).toBe(2);
    expect(await page.getByLabel("Amount").inputValue()).toBe("5");
    await start(defineCounter().environment, { port });
    await page.getByRole("button", { name: "Reconnect now" }).click();
    // Without a journal the new server does not have the session.
    await page.locator(".ep", { hasText: "Cut off" }).waitFor();
    await page.getByRole("button", { name: "Reconnect now" }).click();
    await page.getByText("Connected", { exact: true }).waitFor();
    await reset(page);
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    await page.locator(".pane--step", { hasText: /count\s*5/ }).waitFor();
    expect(await page.locator(".tl .ep b").allInnerTexts()).toEqual(["Episode 1", "Connection lost", "Episode 2"]);
  });

  test("after a lost session only a reset can be sent, also with the buttons of the interrupted episode", async () => {
    const contract = defineContract({
      name: "doors_env",
      action: z.object({ door: z.string() }),
      observation: z.object({}),
    });
    const environment = defineEnvironment(contract, () => ({
      reset: () => ({ observation: {} }),
      step: ({ door }) => {
        if (door === "none") throw new Error("there is no such door");
        return { observation: {} };
      },
      actions: () => [{ label: "Open the left door", action: { door: "left" } }],
    }));
    const first = await start(environment, await anywhere());
    const page = await open(first);
    await reset(page);
    await page.getByLabel("Door").fill("none");
    await page.getByLabel("Door").press("Enter");
    await page.getByText("there is no such door").first().waitFor();
    await page.getByLabel("Door").fill("left");
    await page.getByLabel("Door").press("Enter");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await steps(page).nth(1).click();
    await first.close();
    await page.getByText("Connection lost.").waitFor();
    await start(environment, { port: Number(new URL(first.url).port) });
    await reconnect(page);
    await page.getByText("Reset starts an episode").waitFor();
    for (const name of [/^Send ↵/, "Open the left door", "Send again"]) {
      const button = page.getByRole("button", { name });
      expect(await button.getAttribute("aria-disabled")).toBe("true");
      await button.click({ force: true });
    }
    await page.getByLabel("Door").press("Enter");
    await reset(page);
    expect(await page.locator(".tl .ep b").allInnerTexts()).toEqual(["Episode 1", "Connection lost", "Episode 2"]);
    expect(await steps(page).count()).toBe(4);
    const door = page.getByRole("button", { name: "Open the left door" });
    await expect.poll(() => door.getAttribute("aria-disabled"), { timeout: 20_000 }).toBeNull();
  });

  test("a server that restarts with other actions gets another form, and input is kept", async () => {
    const define = (fields: Record<string, z.ZodType>) =>
      defineEnvironment(
        defineContract({ name: "changing_env", action: z.object(fields), observation: z.object({}) }),
        () => ({ reset: () => ({ observation: {} }), step: () => ({ observation: {} }) }),
      );
    const first = await start(define({ word: z.string() }), await anywhere());
    const page = await open(first);
    await page.getByLabel("Word").fill("kept");
    await page.getByText("Connected", { exact: true }).waitFor();
    await first.close();
    await page.getByText("Connection lost.").waitFor();
    await start(define({ word: z.string(), again: z.int() }), { port: Number(new URL(first.url).port) });
    await reconnect(page);
    await page.getByLabel("Again").waitFor();
    expect(await page.getByLabel("Word").inputValue()).toBe("kept");
  });

  test("a removed tool is replaced by the server's current ones, and its steps cannot be used again", async () => {
    const first = await start(defineDesk().environment, await anywhere());
    const page = await open(first);
    await reset(page);
    await page.getByRole("option", { name: /^greet/ }).click();
    await page.getByLabel("Name").fill("Ada");
    await page.getByLabel("Name").press("Enter");
    await page.getByRole("button", { name: "Use again" }).waitFor();
    await first.close();
    await page.getByText("Connection lost.").waitFor();
    await start(defineCounter().environment, { port: Number(new URL(first.url).port) });
    await page.getByLabel("Amount").waitFor();
    expect(await page.getByRole("heading", { name: "Step 1" }).count()).toBe(1);
    expect(await page.getByRole("button", { name: "Use again" }).count()).toBe(0);
  });

  test("when only an orchestrator may play, the page keeps no session", async () => {
    const options = { mode: "production", webInterface: true, orchestratorToken: "drive" } as const;
    const server = await start(defineCounter().environment, options);
    const page = await open(server);
    await page.getByText("This server allows reset, step and state only for its orchestrator.").waitFor();
    await page.getByText("Not connected", { exact: true }).waitFor();
    await expect.poll(() => server.capacity().active_sessions, { timeout: 20_000 }).toBe(0);
  });

  test("the page reconnects by itself", async () => {
    const first = await start(echo, await anywhere());
    const port = Number(new URL(first.url).port);
    const page = await open(first);
    await page.getByText("Connected", { exact: true }).waitFor();
    await first.close();
    await page.getByText("Connection lost.").waitFor();
    await start(echo, { port });
    await page.getByText("Connected", { exact: true }).waitFor();
  });

  test("a full server is reported, and the session starts when a slot is free", async () => {
    const server = await start(echo, { maxConcurrentEnvs: 1 });
    const first = await open(server);
    // A session without a message would make room.
    await reset(first);
    const second = await open(server);
    await second.getByText("The only session is in use.").waitFor();
    await first.close();
    await second.getByText("Connected", { exact: true }).waitFor();
  });

  test("a server with a queue reports the position, and the session starts in turn", async () => {
    const server = await start(echo, { maxConcurrentEnvs: 2, queueSize: 5 });
    const [first, second] = [await open(server), await open(server)];
    // Sessions without a message would make room.
    for (const page of [first, second]) await reset(page);
    const third = await open(server);
    await third.getByText("You are number 1 in the queue.").waitFor();
    const fourth = await open(server);
    await fourth.getByText("All 2 sessions are in use.").waitFor();
    await fourth.getByText("You are number 2 in the queue.").waitFor();
    expect(
      await fourth
        .getByRole("button", { name: /^Reset/ })
        .first()
        .getAttribute("aria-disabled"),
    ).toBe("true");
    await third.getByRole("button", { name: "Leave the queue" }).click();
    await third.getByText("Not connected.", { exact: true }).waitFor();
    await fourth.getByText("You are number 1 in the queue.").waitFor();
    await first.close();
    await fourth.getByText("Connected", { exact: true }).waitFor();
    await reset(fourth);
  });

  test("the timeline shows a loss once, however often the server rejects the reconnect", async () => {
    const first = await start(defineCounter().environment, await anywhere());
    const port = Number(new URL(first.url).port);
    const page = await open(first);
    await reset(page);
    await first.close();
    await page.getByText("Connection lost.").waitFor();
    let refusals = 0;
    const broken = defineEnvironment(defineCounter().environment.contract, () => {
      refusals++;
      throw new Error("not today");
    });
    const refusing = await start(broken, { port });
    while (refusals < 3) await page.getByRole("button", { name: "Reconnect now" }).click();
    await page.getByText(/Next attempt in/).waitFor();
    expect(await page.locator(".tl .ep b").allInnerTexts()).toEqual(["Episode 1", "Connection lost"]);
    await refusing.close();
    await start(defineCounter().environment, { port });
    await reconnect(page);
    expect(await page.getByRole("button", { name: /^Send/ }).getAttribute("aria-disabled")).toBe("true");
    await page.getByText("Reset starts an episode").waitFor();
  });

  test("a long step counts the seconds, and can be canceled", async () => {
    const page = await open(await start(defineCounter().environment));
    await reset(page);
    await add(page, 60);
    await page.getByText(/^Waiting \d+\.\d s/).waitFor();
    await page.getByRole("button", { name: "Cancel and open a new session" }).click();
    await page.locator(".ep", { hasText: "Session closed" }).waitFor();
    await reset(page);
    await add(page, 1);
    await page.locator(".pane--step", { hasText: /count\s*1/ }).waitFor();
  });

  test("the page finds its server under the prefix of a proxy", async () => {
    await using proxy = await startProxy(await start(echo), "/spaces/echo");
    const page = await open(proxy, { path: "/spaces/echo" });
    await reset(page);
    await page.getByRole("option", { name: /^action/ }).click();
    await page.getByLabel("Message").fill("behind a proxy");
    await page.getByLabel("Message").press("Enter");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    // Closed before the proxy, because it may still be loading the plot.
    await page.close();
  });

  test("on a phone there is one column, and nothing is wider than the screen", async () => {
    const page = await open(await start(wordle), { size: PHONE });
    await reset(page);
    const more = page.getByRole("button", { name: "More: import, export" });
    await more.click();
    await page.getByRole("button", { name: "Import", exact: true }).press("Escape");
    expect(await more.evaluate((button) => button === document.activeElement)).toBe(true);
    await page.getByLabel("Message").fill("[crane]");
    await page.getByRole("button", { name: /^Send/ }).click();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    expect(await width(page)).toBeLessThanOrEqual(PHONE.width);
    await page.locator("label", { hasText: /^Timeline$/ }).tap();
    await steps(page).first().waitFor();
    await page.locator("label", { hasText: /^State$/ }).tap();
    await page.getByRole("heading", { name: "State" }).waitFor();
    expect(await width(page)).toBeLessThanOrEqual(PHONE.width);
    const small = await page
      .locator("button:visible")
      .evaluateAll((buttons) =>
        buttons.filter((button) => button.getBoundingClientRect().height < 28).map((button) => button.textContent),
      );
    expect(small).toEqual([]);
  });
});

/** On a port that stays free between the server and its replacement. */
async function anywhere(): Promise<{ port: number }> {
  return { port: await findFreePort() };
}

/** Makes the page reconnect, which it may already be doing. */
async function reconnect(page: Page): Promise<void> {
  const button = page.getByRole("button", { name: "Reconnect now" });
  await button.click({ timeout: 5_000 }).catch(() => {});
  await page.getByText("Connected", { exact: true }).waitFor();
}

/** From now on timers of a second or more do not fire, so the page does not reconnect by itself. */
async function holdTimers(page: Page): Promise<void> {
  await page.evaluate(() => {
    const { setTimeout: start } = globalThis;
    globalThis.setTimeout = ((work: () => void, ms = 0) => (ms < 1_000 ? start(work, ms) : 0)) as typeof start;
  });
}

async function add(page: Page, amount: number): Promise<void> {
  await page.getByLabel("Amount").fill(String(amount));
  await page.getByLabel("Amount").press("Enter");
}
