import { defineContract, defineEnvironment } from "openenv-ts";
import { connect } from "openenv-ts/client";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { findFreePort } from "../../../test-support/free-port.js";
import { startGateway } from "../../../test-support/proxies/gateway.js";
import { exported, imported, requireChromium, reset, steps, usePages } from "./pages.js";
import { useFolders } from "./rollouts.js";

const chromium = await requireChromium();

const contract = defineContract({
  name: "adder_env",
  action: z.object({ add: z.int().meta({ examples: [1] }) }),
  observation: z.object({ sum: z.int() }),
});
const adder = defineEnvironment(
  contract,
  () => {
    let sum = 0;
    return {
      reset: () => ({ observation: { sum: (sum = 0) } }),
      step: ({ add }) => ({ observation: { sum: (sum += add) }, reward: add, done: false }),
      snapshot: () => sum,
      restore: (saved: number) => void (sum = saved),
    };
  },
  { history: 10 },
);

async function add(page: Page, amount: number, step: number) {
  await page.getByLabel("Add", { exact: true }).fill(String(amount));
  await page.getByRole("button", { name: /^Send/ }).click();
  await page.getByRole("heading", { name: `Step ${step}` }).waitFor();
}

const connected = (page: Page) => page.getByText("Connected", { exact: true }).waitFor();
const sumOf = (page: Page) => page.locator('.pane--step dt:text-is("sum") + dd').innerText();

describe.skipIf(!chromium.available)("an episode of the page", () => {
  const { start, open, expectProblem } = usePages(chromium);
  const makeFolder = useFolders();

  test("continues with its timeline after a reload, and in a forked tab", async () => {
    const server = await start(adder);
    const page = await open(server);
    await reset(page);
    await add(page, 2, 1);
    await add(page, 3, 2);
    await page.reload();
    await connected(page);
    await page.getByRole("heading", { name: "Step 2" }).waitFor();
    expect(await steps(page).count()).toBe(3);
    await add(page, 10, 3);
    expect(await sumOf(page)).toBe("15");
    expect(server.capacity().active_sessions).toBe(1);
    const opened = page.waitForEvent("popup");
    await page.getByRole("button", { name: "Fork", exact: true }).click();
    const copy = await opened;
    for (const again of [false, true]) {
      if (again) await copy.reload();
      await connected(copy);
      await copy.getByText(/^Fork of episode .+, step 3$/).waitFor();
    }
    await add(copy, 20, 4);
    expect(await sumOf(copy)).toBe("35");
  });

  test("continues after its connection was lost", async () => {
    const server = await start(adder);
    await using gateway = await startGateway(server, "passes");
    const page = await open({ url: gateway.url });
    await reset(page);
    await add(page, 2, 1);
    // The code of the plot cannot be loaded while the server is away.
    await page.locator(".plot canvas").waitFor();
    gateway.cut();
    await page.getByText("the episode continues").waitFor();
    await connected(page);
    await add(page, 3, 2);
    expect(await sumOf(page)).toBe("5");
  });

  test("continues on a server that was restarted with its journal", async () => {
    const journal = await makeFolder();
    const server = await start(adder, { journal, port: await findFreePort() });
    const page = await open(server);
    await reset(page);
    await add(page, 2, 1);
    // The code of the plot cannot be loaded while the server is away.
    await page.locator(".plot canvas").waitFor();
    await server.close();
    await start(adder, { journal, port: Number(new URL(server.url).port) });
    await connected(page);
    await add(page, 3, 2);
    expect(await sumOf(page)).toBe("5");
  });

  test("repeats a step without an answer after a reload, also when the server is away at first", async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = defineEnvironment(contract, () => {
      let sum = 0;
      return {
        reset: () => ({ observation: { sum: (sum = 0) } }),
        step: async ({ add }) => {
          await released;
          return { observation: { sum: (sum += add) }, reward: add };
        },
      };
    });
    const page = await open(await start(slow));
    await reset(page);
    await page.getByLabel("Add", { exact: true }).fill("2");
    await page.getByRole("button", { name: /^Send/ }).click();
    await page.getByRole("button", { name: "Cancel" }).waitFor();
    let sockets = 0;
    await page.routeWebSocket(/\/ws\?/, (socket) => {
      if (sockets++ > 0) socket.connectToServer();
      else void socket.close({ code: 1011, reason: "away" });
    });
    await page.reload();
    await expect.poll(() => sockets).toBe(2);
    release();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    expect(await sumOf(page)).toBe("2");
    await add(page, 3, 2);
    expect(await sumOf(page)).toBe("5");
  });

  test("has an address for each step, and back and forward follow it", async () => {
    const page = await open(await start(adder));
    await reset(page);
    await add(page, 2, 1);
    await add(page, 3, 2);
    expect(new URL(page.url()).hash).toBe("#/play");
    await steps(page).nth(1).click();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await expect.poll(() => new URL(page.url()).hash).toBe("#/play/step/1");
    await page.goBack();
    await page.getByRole("heading", { name: "Step 2" }).waitFor();
    await page.goForward();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.getByRole("link", { name: "About" }).click();
    await page.goBack();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
  });

  test("explains a session link on a server without a store", async () => {
    const server = await start(adder);
    await using env = await connect(server.url, contract);
    const { url = "" } = await env.reset();
    expectProblem(/status of 404/);
    const page = await open(server, { view: new URL(url).hash.slice(2) });
    await page.getByText("openenv serve --store").waitFor();
    // Only who plays takes a session.
    expect(server.capacity().active_sessions).toBe(1);
    await page.getByRole("link", { name: "Play" }).click();
    await connected(page);
  });

  test("disables sending while a file is shown", async () => {
    const page = await open(await start(adder));
    await reset(page);
    await add(page, 2, 1);
    await imported(page, await exported(page));
    await page.getByText("Read-only: 1 episode").waitFor();
    expect(await page.getByRole("button", { name: /^Refresh/ }).getAttribute("aria-disabled")).toBe("true");
    expect(await page.locator(".pane--act button[type=submit]").getAttribute("aria-disabled")).toBe("true");
    expect(await page.locator(".pane--act .pane__body").getAttribute("inert")).not.toBeNull();
  });
});
