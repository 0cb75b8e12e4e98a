import { readFile } from "node:fs/promises";
import { defineContract, defineEnvironment } from "openenv-ts";
import { parseEpisode } from "openenv-ts/protocol";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createProject, startCommand } from "../../../test-support/commands/command-line.js";
import { findFreePort } from "../../../test-support/free-port.js";
import { exported, imported, requireChromium, reset, steps, usePages } from "./pages.js";

const chromium = await requireChromium();

describe.skipIf(!chromium.available)("a step without a result", () => {
  const { start, open } = usePages(chromium);
  const contract = defineContract({
    name: "moods_env",
    action: z.object({ mood: z.string() }),
    observation: z.object({ mood: z.string() }),
  });
  const moods = defineEnvironment(contract, () => ({
    reset: () => ({ observation: { mood: "new" } }),
    step: ({ mood }) => {
      if (mood === "throw") throw new Error("unlucky");
      if (mood === "wait") return new Promise<never>(() => {});
      if (mood === "invalid") return { observation: { mood: 1 as unknown as string } };
      return { observation: { mood }, reward: mood === "nan" ? Number.NaN : 1 };
    },
  }));
  const send = async (page: Page, mood: string): Promise<void> => {
    const rows = await steps(page).count();
    await page.getByLabel("Mood").fill(mood);
    await page.keyboard.press("Enter");
    await steps(page).nth(rows).waitFor();
  };

  test("is not counted, like on the server, and stays in the file", async () => {
    const page = await open(await start(moods));
    await reset(page);
    for (const mood of ["good", "throw", "good"]) await send(page, mood);
    await page.getByRole("button", { name: /^Refresh/ }).click();
    await page.getByText("after step 2").first().waitFor();
    const counted = page.locator(".facts div", { hasText: "Steps" }).locator("strong");
    expect(await counted.innerText()).toBe("2");
    expect(await page.locator(".pane--state").innerText()).toMatch(/step_count\W+2/);
    await page.getByRole("heading", { name: "Step 2" }).waitFor();
    // The server counts a step with an invalid result, like the Python server.
    await send(page, "invalid");
    const file = await exported(page);
    expect(parseEpisode((await readFile(file, "utf8")).trimEnd())).toMatchObject({
      steps: [{ action: { mood: "good" } }, { action: { mood: "good" } }],
      failures: [
        { kind: "step", after: 1, action: { mood: "throw" }, code: "EXECUTION_ERROR", message: "unlucky" },
        { kind: "step", after: 2, action: { mood: "invalid" }, code: "EXECUTION_ERROR" },
      ],
    });
    await imported(page, file);
    await page.getByText("Read-only: 1 episode").waitFor();
    expect(await page.locator(".step.is-error").count()).toBe(2);
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByText("Every step is the same as recorded").waitFor();
  });

  test("that was canceled keeps its row, and the session has ended", async () => {
    const page = await open(await start(moods));
    await reset(page);
    await page.getByLabel("Mood").fill("wait");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Cancel and open a new session" }).click();
    await page.getByText("This step was canceled").waitFor();
    expect(await page.locator(".note", { hasText: "was canceled" }).innerText()).toContain("The session has ended.");
    expect(await steps(page).last().innerText()).toMatch(/wait[\s\S]*ABORTED/);
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByRole("tab", { name: "Raw JSON" }).click();
    await page.getByText("No response arrived.").waitFor();
  });

  test("whose server is gone keeps its row", async () => {
    const server = await start(moods, { port: await findFreePort() });
    const page = await open(server);
    await reset(page);
    await page.getByLabel("Mood").fill("wait");
    await page.keyboard.press("Enter");
    await page.getByText(/^Waiting/).waitFor();
    await server.close();
    // The server may come back with the session; this one does not have it.
    await start(moods, { port: Number(new URL(server.url).port) });
    await page.getByText("The connection was lost during this step").waitFor();
    expect(await steps(page).last().innerText()).toMatch(/wait[\s\S]*SESSION_LOST/);
  });

  test("whose host was lost reports that the session has ended", async () => {
    const text = `import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
export default defineEnvironment(
  defineContract({ name: "exit_env", action: z.object({ mood: z.string() }), observation: z.object({}) }),
  () => ({ reset: () => ({ observation: {} }), step: () => process.exit(3) }),
);
`;
    await using project = await createProject({ "environment.ts": text });
    await using running = startCommand(["serve", "--port", "0", "--isolation", "process"], { cwd: project.dir });
    const [, url = ""] = await running.printed(/at (http:\S+)/);
    const page = await open({ url });
    await reset(page);
    await page.getByLabel("Mood").fill("bad");
    await page.keyboard.press("Enter");
    const notice = page.locator(".pane--step .note", { hasText: "The environment's process ended during this step" });
    await notice.waitFor();
    expect(await notice.innerText()).toContain("The session has ended.");
    expect(await notice.innerText()).not.toContain("continues");
    await page.close();
  });

  test("differs from a reward of NaN, which is shown as NaN and counts as a step", async () => {
    const page = await open(await start(moods));
    await reset(page);
    await send(page, "nan");
    await send(page, "good");
    expect(await steps(page).nth(1).innerText()).toContain("NaN");
    await page.getByText("Step 2, reward 1.00, not done").waitFor({ state: "attached" });
    await steps(page).nth(1).click();
    expect(await page.locator(".measures").innerText()).toMatch(/Reward\s+NaN/);
    expect(await page.locator(".facts").innerText()).toMatch(/Total reward\s+1\.00/);
    await imported(page, await exported(page));
    await page.getByText("Read-only: 1 episode, 2 steps.").waitFor();
    expect(await steps(page).nth(1).innerText()).toContain("NaN");
  });
});
