import { describe, expect, test } from "vitest";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { requireChromium, reset, usePages } from "./pages.js";

const chromium = await requireChromium();

describe.skipIf(!chromium.available)("the page of a server with a client token", () => {
  const { start, open, visit, expectProblem } = usePages(chromium);

  test("asks for the token, plays with it, and stores it for the tab but never in the URL", async () => {
    expectProblem(/status of 401/);
    const page = await open(await start(defineCounter().environment, { clientToken: "letmein" }));
    await page.getByText("This server requires a token").waitFor();
    const field = page.getByLabel("Token", { exact: true });
    await field.fill("guess");
    await field.press("Enter");
    await page.getByText("The server rejected this token.").waitFor();
    await field.fill("letmein");
    await field.press("Enter");
    await page.getByText("Connected", { exact: true }).waitFor();
    await reset(page);
    await page.getByLabel("Amount").fill("2");
    await page.getByLabel("Amount").press("Enter");
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    expect(page.url()).not.toContain("letmein");
    expect(await page.evaluate(() => JSON.stringify([{ ...localStorage }, document.cookie]))).not.toContain("letmein");
    await page.reload();
    await page.getByText("Connected", { exact: true }).waitFor();
  });

  test("opens the page's links to the documentation, in other tabs, too", async () => {
    expectProblem(/status of 401/);
    const page = await open(await start(defineCounter().environment, { clientToken: "letmein" }), { token: "letmein" });
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByRole("link", { name: "About" }).click();
    for (const [link, text] of [
      ["/docs", "/reset"],
      ["/schema", "observation"],
    ] as const) {
      const opened = page.context().waitForEvent("page");
      await page.getByRole("link", { name: link, exact: true }).click();
      const tab = await opened;
      await tab.getByText(text).first().waitFor();
      expect(tab.url()).not.toContain("letmein");
      await tab.close();
    }
  });

  test.each(["/docs", "/redoc"])("asks for the token at %s without a page that has it", async (path) => {
    // The icon that browsers request for any page does not exist.
    expectProblem(/status of 40[14]/);
    const server = await start(defineCounter().environment, { clientToken: "letmein", mode: "production" });
    const page = await visit(server.url + path);
    await page.getByLabel("Token").fill("guess");
    await page.keyboard.press("Enter");
    await page.getByText("The server rejected this token.").waitFor();
    await page.getByLabel("Token").fill("letmein");
    await page.keyboard.press("Enter");
    await page.getByText("counter_env").first().waitFor();
    await page.reload();
    await page.getByText("counter_env").first().waitFor();
    const other = await visit(`${server.url}${path}#token=letmein`);
    await other.getByText("counter_env").first().waitFor();
    expect(other.url()).not.toContain("letmein");
  });
});
