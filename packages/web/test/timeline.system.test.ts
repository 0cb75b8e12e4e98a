import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineContract, defineEnvironment } from "openenv-ts";
import { parseEpisode, renderEpisode } from "openenv-ts/protocol";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import echo from "../../../envs/echo/server/environment.js";
import wordle from "../../../envs/wordle/server/environment.js";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { exported, imported, PHONE, requireChromium, reset, steps, usePages } from "./pages.js";

const chromium = await requireChromium();

describe.skipIf(!chromium.available)("the timeline", () => {
  const { start, open, expectProblem } = usePages(chromium);

  test("reports that its plot could not be loaded, continues without it, and shows it after a retry", async () => {
    expectProblem(/ERR_FAILED|It could not be loaded from the server\./);
    const page = await open(await start(echo));
    await reset(page);
    await page.route("**/reward-plot*.js", (route) => route.abort());
    await page.getByLabel("Message").fill("hello");
    await page.keyboard.press("Enter");
    await page.getByText("The plot could not be shown").waitFor();
    await page.getByText("It could not be loaded from the server. The timeline is kept").waitFor();
    await page.getByRole("heading", { name: "Step 1" }).waitFor();
    await page.unroute("**/reward-plot*.js");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".plot canvas").waitFor();
    expect(await page.getByText("The plot could not be shown").count()).toBe(0);
  });

  test("does not mark a step with the letters of the previous step", async () => {
    const page = await open(await start(wordle));
    await reset(page, 42);
    for (const [at, word] of ["[crane]", "[zzzzz]", "[slate]"].entries()) {
      await page.getByLabel("Message").fill(word);
      await page.getByLabel("Message").press("Enter");
      await steps(page)
        .nth(at + 1)
        .waitFor();
    }
    const marks = await steps(page).evaluateAll((rows) => rows.map((row) => row.querySelectorAll(".mk").length));
    expect(marks).toEqual([0, 5, 0, 5]);
    expect(await steps(page).nth(2).innerText()).toContain("You attempted an invalid move.");
  });

  test("is exported as episodes, imported for viewing, and replayed with the same result", async () => {
    const server = await start(wordle);
    const page = await open(server);
    await reset(page, 42);
    for (const [at, word] of ["[crane]", "[slate]"].entries()) {
      await page.getByLabel("Message").fill(word);
      await page.getByLabel("Message").press("Enter");
      await steps(page)
        .nth(at + 1)
        .waitFor();
    }
    const file = await exported(page);
    const [line = ""] = (await readFile(file, "utf8")).split("\n");
    expect(parseEpisode(line)).toMatchObject({
      format: "openenv.episode/2",
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
    await imported(visitor, file);
    await visitor.getByText("Read-only: 1 episode, 2 steps.").waitFor();
    await reset(visitor);
    expect(await visitor.getByText("Read-only: 1 episode, 2 steps.").count()).toBe(0);
    expect(await steps(visitor).count()).toBe(1);
  });

  test("a replay marks the first step that differs, and stops there", async () => {
    const server = await start(wordle);
    const page = await open(server);
    // A game with a different word.
    await reset(page, 42);
    for (const [at, word] of ["[crane]", "[slate]", "[pound]"].entries()) {
      await page.getByLabel("Message").fill(word);
      await page.getByLabel("Message").press("Enter");
      await steps(page)
        .nth(at + 1)
        .waitFor();
    }
    const record = parseEpisode((await readFile(await exported(page), "utf8")).split("\n")[0] as string);
    record.reset = {};
    record.episode = 5;
    Object.assign(record.steps[1] ?? {}, { reward: 77 });
    const file = join(tmpdir(), `openenv-differs-${process.pid}.jsonl`);
    await writeFile(file, `${renderEpisode(record)}\n`);
    await imported(page, file);
    await page.getByRole("button", { name: "Replay" }).click();
    await page.getByText(/is the first that differs/).waitFor();
    await page.getByRole("button", { name: "Show diff" }).click();
    expect(await page.locator(".diff .path").count()).toBeGreaterThan(0);
    expect(await page.locator(".cmp tbody tr").count()).toBeLessThan(record.steps.length + 1);
    expect(await page.locator(".cmp tbody tr").last().innerText()).toContain("differs");
    expect(await page.getByText("Not played").count()).toBe(0);
    const replayed = await readFile(await exported(page, "Export replay"), "utf8");
    const again = parseEpisode(replayed.trimEnd());
    expect(again).toMatchObject({ environment: "wordle_env", episode: 5, reset: {} });
    expect(again.steps.map(({ reward }) => reward)).not.toContain(77);
    await imported(page, file);
    await page.getByRole("button", { name: "Replay", exact: true }).waitFor();
    expect(await page.getByRole("heading", { name: "Replay" }).count()).toBe(0);
  });

  test("a replay on a full server names a possible reason, one in the queue shows its position", async () => {
    for (const [queueSize, words] of [
      [0, /CAPACITY_REACHED.*this tab may use the only one/],
      [3, "The replay is number 1 in the queue"],
    ] as const) {
      const { environment } = defineCounter({ supportsConcurrentSessions: false });
      const page = await open(await start(environment, { queueSize }));
      await reset(page);
      await imported(page, await exported(page));
      await page.getByRole("button", { name: "Replay" }).click();
      await page.getByText(words).waitFor();
      expect(await page.getByText(/is the first that differs/).count()).toBe(0);
    }
  });

  test("an episode of another environment is labelled, and keeps the number of its file", async () => {
    const player = await open(await start(echo));
    await reset(player);
    const line = (await readFile(await exported(player), "utf8")).replace('"episode":1', '"episode":3');
    const file = join(tmpdir(), `openenv-other-${process.pid}.jsonl`);
    await writeFile(file, line);
    await imported(player, file);
    await player.getByText("Read-only: 1 episode, 0 steps.").waitFor();
    expect(await player.getByText("Recorded with").count()).toBe(0);
    expect(await player.locator(".tl .ep b").allInnerTexts()).toEqual(["Episode 3"]);
    const page = await open(await start(wordle));
    await imported(page, file);
    await page.getByText("Recorded with echo_env, this is wordle_env.").waitFor();
  });

  test("closing the tab asks only where a reload would lose steps that were not exported", async () => {
    const contract = defineContract({
      name: "large_env",
      action: z.object({}),
      observation: z.object({ text: z.string() }),
    });
    const large = defineEnvironment(contract, () => ({
      reset: () => ({ observation: { text: "x".repeat(4_100_000) } }),
      step: () => ({ observation: { text: "" } }),
    }));
    const kept = await open(await start(echo));
    kept.on("dialog", () => expect.fail("asked"));
    await reset(kept);
    await kept.close({ runBeforeUnload: true });
    await expect.poll(() => kept.isClosed(), { timeout: 20_000 }).toBe(true);
    const page = await open(await start(large));
    let dialogs = 0;
    page.on("dialog", (dialog) => {
      dialogs++;
      void dialog.dismiss();
    });
    await reset(page);
    await page.close({ runBeforeUnload: true });
    await expect.poll(() => dialogs, { timeout: 20_000 }).toBe(1);
    await exported(page);
    await page.reload();
    await page.getByText("1 step of it is missing").waitFor();
    await page.close({ runBeforeUnload: true });
    await expect.poll(() => page.isClosed(), { timeout: 20_000 }).toBe(true);
    expect(dialogs).toBe(1);
  });

  test("an invalid file is rejected with a message, and nothing is lost", async () => {
    const page = await open(await start(echo));
    await reset(page);
    const file = join(tmpdir(), `openenv-broken-${process.pid}.jsonl`);
    await writeFile(file, '{"format":"openenv.episode/1"}\n');
    await imported(page, file);
    await page.getByText("The file could not be read.").waitFor();
    await page.getByText(/Line 1 is not a valid episode/).waitFor();
    expect(await steps(page).count()).toBe(1);
  });

  test("ten thousand steps stay smooth: only the visible rows are rendered", async () => {
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
    await page.getByRole("heading", { name: "Step 10,000" }).waitFor();
    expect(await steps(page).count()).toBeLessThan(80);
    await page.keyboard.press("k");
    await page.getByRole("heading", { name: "Step 9,999" }).waitFor();
  });

  test("rows have no gaps, also those of another file and in a narrower window", async () => {
    const server = await start(defineCounter().environment);
    const [player, page] = [await open(server), await open(server)];
    await reset(player);
    for (const number of [1, 2]) {
      await add(player, 1);
      await player.getByRole("heading", { name: `Step ${number}` }).waitFor();
    }
    const file = await exported(player);
    await reset(page);
    await reset(page);
    await steps(page).nth(1).waitFor();
    await imported(page, file);
    await page.getByText("Read-only: 1 episode, 2 steps.").waitFor();
    const gaps = () =>
      page.locator(".tl__row").evaluateAll((rows) => {
        const places = rows.map((row) => row.getBoundingClientRect());
        return places.slice(1).map(({ top }, at) => Math.round(top - (places[at]?.bottom ?? 0)));
      });
    await expect.poll(gaps, { timeout: 20_000 }).toEqual([0, 0, 0]);
    await page.setViewportSize(PHONE);
    await page.locator("label", { hasText: /^Timeline$/ }).click();
    await expect.poll(gaps, { timeout: 20_000 }).toEqual([0, 0, 0]);
  });

  test("a new step does not scroll the list when an older one is selected", async () => {
    const page = await open(await start(defineCounter().environment));
    await reset(page);
    for (const number of [1, 2]) {
      await add(page, 1);
      await page.getByRole("heading", { name: `Step ${number}` }).waitFor();
    }
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
