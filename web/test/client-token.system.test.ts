import { describe, expect, test } from "vitest";
import { defineCounter } from "../../openenv/test-support/counter.js";
import { requireChromium, reset, usePages } from "./pages.js";

const chromium = await requireChromium();

describe.skipIf(!chromium.available)("the page of a server with a client's token", () => {
  const { start, open, expectProblem } = usePages(chromium);

  test("asks for the token, plays with it, keeps it for the tab and never in the address", async () => {
    expectProblem(/status of 401/);
    const page = await open(await start(defineCounter().environment, { clientToken: "letmein" }));
    await page.getByText("This server asks for a token").waitFor();
    const field = page.getByLabel("Token");
    await field.fill("guess");
    await field.press("Enter");
    await page.getByText("The server did not take this token.").waitFor();
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
});
