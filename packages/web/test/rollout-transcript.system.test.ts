import { defineContract, defineEnvironment } from "openenv-ts";
import type { EpisodeRow, RolloutPage } from "openenv-ts/protocol";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openTestSocket } from "../../../test-support/sockets/socket.js";
import { faults } from "./axe.js";
import { PHONE, partsLoaded, requireChromium, type Server, usePages, width } from "./pages.js";
import { PICTURES } from "./pictures.js";
import { useFolders } from "./rollouts.js";
import { HOSTILE } from "./zoo.js";

const chromium = await requireChromium();
const E = "\x1b";
const SOUND = `data:audio/wav;base64,UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=`;
/** Markup, writing direction, a link of a terminal, scripts and pictures of other hosts in Markdown. */
const WORST = `${HOSTILE} \u202Egpj.exe ${E}]8;;https://example.org${E}\\link${E}]8;;${E}\\ **b** [a](javascript:alert) ![x](https://example.org/x.png)`;
/** A string of 50 MB; of 100 MB, the recording drops the episode. */
const LONG = 50_000_000;

/** The answer of each action. */
const SCENES: Record<string, { value: unknown; reward?: number; parts?: Record<string, number>; done?: boolean }> = {
  table: {
    value: [
      { sku: "LAMP-1", qty: 1, price: 49.9 },
      { sku: "BULB-3", qty: 2, price: 4.5 },
    ],
  },
  markdown: {
    value:
      "# Policy\n\n**Damaged goods.** See [the policy](https://example.org/policy) ![p](https://example.org/p.png)",
    reward: 0.25,
    parts: { policy: 0.5, speed: -0.25 },
  },
  terminal: { value: `${E}[32m✓ passed${E}[0m\n${E}[31m✗ failed${E}[0m` },
  chat: {
    value: [
      { role: "user", content: "Where is it?" },
      { role: "assistant", content: "On its way." },
    ],
  },
  media: { value: [{ type: "image", data: PICTURES.png, mimeType: "image/png" }, SOUND] },
  worst: { value: { [WORST]: WORST, markdown: `# ${HOSTILE}\n\n${WORST}`, plain: HOSTILE, list: [WORST] } },
  deep: { value: nest(500) },
  long: { value: "x".repeat(LONG) },
  nested: { value: `${"> ".repeat(900)}**b**\n\n${"[".repeat(9000)}` },
  end: { value: "over", reward: -1, done: true },
};

function nest(depth: number): unknown {
  return depth === 0 ? "deep" : { a: nest(depth - 1) };
}

const contract = defineContract({
  name: "scene_env",
  action: z.object({ scene: z.string(), thought: z.string().default("") }),
  observation: z.object({ value: z.unknown() }),
});
const environment = defineEnvironment(contract, () => ({
  reset: () => ({ observation: { value: "ready" } }),
  step: ({ scene }) => {
    if (scene === "refuse") throw new Error("amount must be at most 49.90");
    const { value, reward, parts, done } = SCENES[scene] ?? { value: `You said ${scene}.` };
    return {
      observation: { value },
      ...(reward === undefined ? {} : { reward }),
      ...(done === undefined ? {} : { done }),
      ...(parts ? { metadata: { reward_components: parts } } : {}),
    };
  },
}));

describe.skipIf(!chromium.available)("a rollout", () => {
  const { start, open, expectProblem } = usePages(chromium);
  const makeFolder = useFolders();

  const serveScenes = async (): Promise<Server> =>
    start(environment, { store: await makeFolder(), maxConcurrentEnvs: 8, maxMessageBytes: 2 * LONG });
  /** Plays an episode of these scenes, each with what was thought, and returns its public id. */
  const play = async (server: Server, run: string, scenes: readonly (string | [string, string])[], seed = 7) => {
    await using socket = await openTestSocket(`${server.url}/ws`);
    await socket.ask({ type: "reset", data: { seed, metadata: { group: "g", run } } });
    for (const given of scenes) {
      const [scene, thought] = typeof given === "string" ? [given, ""] : given;
      await socket.ask({ type: "step", data: { scene, thought } });
    }
    let id = "";
    await expect
      .poll(async () => {
        const answer = await fetch(`${server.url}/rollouts?q=run:${run}`);
        const { rows } = (await answer.json()) as RolloutPage<EpisodeRow>;
        id = rows[0]?.id ?? "";
        return rows[0]?.steps;
      })
      .toBe(scenes.length);
    return id;
  };
  const turn = (page: Page, number: number) => page.locator(`.turn[data-index="${number}"]`);

  test("is read in the forms that its contents have, by keys, and without a violation", async () => {
    const server = await serveScenes();
    const scenes = [
      "table",
      ["markdown", "I look at the policy."],
      "terminal",
      "chat",
      "media",
      "table",
      "end",
    ] as const;
    const id = await play(
      server,
      "forms",
      scenes.map((scene) => (typeof scene === "string" ? scene : [...scene])),
    );
    const page = await open(server, { view: `rollouts/${id}/step/1`, size: { width: 1440, height: 2600 } });
    await turn(page, 1).locator("th").first().waitFor();
    expect(await turn(page, 1).locator("th").allInnerTexts()).toEqual(["sku", "qty", "price"]);
    await turn(page, 2).getByText("I look at the policy.").waitFor();
    await partsLoaded(page);
    expect(await turn(page, 2).locator("a[target]").allInnerTexts()).toEqual([
      "https://example.org/policy",
      "https://example.org/p.png",
    ]);
    await turn(page, 2).getByRole("button", { name: "Reward of 2 parts" }).click();
    expect(await turn(page, 2).locator(".signed dd").allInnerTexts()).toEqual(["+0.50", "−0.25", "0.25"]);
    await turn(page, 6).getByRole("link", { name: "Same call as step 1" }).waitFor();
    expect(await turn(page, 3).locator(".ansi-fg-green").innerText()).toBe("✓ passed");
    expect(await turn(page, 4).locator(".who").allInnerTexts()).toEqual(["user", "assistant"]);
    expect(await turn(page, 5).locator("img, audio").count()).toBe(2);
    expect(await page.locator(".tr__head .signed dd").allInnerTexts()).toEqual(["+0.50", "−0.25", "−1.00", "−0.75"]);
    expect(await faults(page, "Not connected", true)).toEqual([]);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await expect.poll(() => new URL(page.url()).hash).toBe(`#/rollouts/${id}/step/3`);
    expect(await turn(page, 3).getAttribute("aria-current")).toBe("true");
    await page.keyboard.press("2");
    await turn(page, 3).getByText("observation.value").waitFor();
    await page.keyboard.press("3");
    await turn(page, 3).locator("pre", { hasText: '"\\u001b[32m✓ passed' }).waitFor();
    expect(await faults(page, "Not connected", true)).toEqual([]);
    const phone = await open(server, { view: `rollouts/${id}/step/2`, size: PHONE });
    await turn(phone, 2).getByText("Damaged goods.").waitFor();
    expect(await width(phone)).toBe(PHONE.width);
    expect(await faults(phone, "Not connected", true)).toEqual([]);
  });

  test("with hostile contents changes nothing outside of its box", async () => {
    expectProblem(/status of 504/);
    const server = await serveScenes();
    const id = await play(server, "worst", [["worst", WORST], "deep", "long", "nested", "end"]);
    for (const size of [PHONE, { width: 1440, height: 2600 }]) {
      const page = await open(server, { view: `rollouts/${id}/step/1`, size });
      const shown = turn(page, 1).getByText("<img src=x").first();
      // On a busy machine 50 MB may exceed the time limit of a query (504).
      const again = page.getByRole("button", { name: "Try again" }).first();
      const look = async () => {
        if (await again.isVisible()) await again.click();
        return shown.isVisible();
      };
      await expect.poll(look, { timeout: 60_000 }).toBe(true);
      for (const key of ["j", "j", "j", "2", "3", "1"]) await page.keyboard.press(key);
      await turn(page, 5).waitFor();
      await partsLoaded(page);
      expect(await page.title()).toBe("Rollouts · scene_env");
      expect(await page.getByText(/could not be shown/).count()).toBe(0);
      expect(await page.locator("body script, img[src=x], [onerror], [onload], a[href^=javascript]").count()).toBe(0);
      expect(await page.locator("img[src^=http]").count()).toBe(0);
      expect(await width(page)).toBe(size.width);
    }
  });

  test("that failed names the others that fail like it", async () => {
    const server = await serveScenes();
    const first = await play(server, "same", ["refuse"]);
    await play(server, "same", ["refuse"]);
    const total = async () => ((await (await fetch(`${server.url}/rollouts?q=run:same`)).json()) as RolloutPage).total;
    await expect.poll(total).toBe(2);
    const page = await open(server, { view: `rollouts/${first}` });
    await turn(page, 1).getByText("2 episodes of this run fail like this").waitFor();
    await turn(page, 1).getByRole("link", { name: "Show them" }).click();
    await expect.poll(() => decodeURIComponent(new URL(page.url()).hash)).toMatch(/^#\/rollouts\?q=run:same\+error:/);
  });

  test("of a thousand steps draws those in sight, also from a link to one", async () => {
    const server = await serveScenes();
    const id = await play(
      server,
      "long",
      Array.from({ length: 1000 }, (_, at) => `word ${at}`),
    );
    const page = await open(server, { view: `rollouts/${id}/step/700` });
    await turn(page, 700).getByText("You said word 699.").waitFor();
    expect(await page.locator(".turn").count()).toBeLessThan(40);
    await page.keyboard.press("G");
    await turn(page, 1000).getByText("You said word 999.").waitFor();
    expect(await page.locator(".turn").count()).toBeLessThan(40);
    // A part of it is not compared as if it were the whole. The tree may fail.
    expectProblem(/ERR_FAILED/);
    await page.route(/from=400/, (route) => route.abort());
    await page.route(/\/rollouts\?q=group/, (route) => route.abort());
    await page.goto(`${server.url}/web/#/compare/${id}/${id}`);
    await page.getByText("The episode could not be read").waitFor();
    await page.unroute(/from=400/);
    const tree = page.waitForEvent("requestfailed");
    await page.getByRole("button", { name: "Try again" }).click();
    await tree;
    await page.getByRole("heading", { name: "A and B are equal" }).waitFor();
  });

  test("is compared with another whose long text differs at its end", async () => {
    const server = await serveScenes();
    const long = "Nothing is decided yet. ".repeat(200);
    const a = await play(server, "a", [["one", `${long}Take the lamp.`], "end"]);
    const b = await play(server, "b", [["one", `${long}Leave the lamp.`], "end"]);
    const page = await open(server, { view: `compare/${a}/${b}` });
    await page.locator(".cellx--a mark", { hasText: "Take" }).waitFor();
    await page.locator(".cellx--b mark", { hasText: "Leave" }).waitFor();
  });

  test("is replayed beside another, and the step from which its answers differ is named", async () => {
    const server = await serveScenes();
    SCENES["shift"] = { value: "before" };
    const a = await play(server, "a", ["one", "end"]);
    const b = await play(server, "b", ["refuse", "one", "shift", "end"]);
    SCENES["shift"] = { value: "after" };
    const page = await open(server, { view: `compare/${a}/${b}` });
    await page.getByRole("button", { name: "Replay B" }).click();
    await page.getByText("Replayed just now: B differs from step 3 on").waitFor();
    await page.goto(`${server.url}/web/#/rollouts/${b}/step/3`);
    await page.getByRole("link", { name: "Play on from step 3" }).click();
    await page.getByText("The answer to step 3 is not the recorded one: observation.value differs.").waitFor();
    expect(await faults(page, "Connected", true)).toEqual([]);
  });

  test("is compared with another: where they part, word by word, in the tree, and replayed", async () => {
    const server = await serveScenes();
    const a = await play(server, "a", ["one", "two", ["three", "R is yellow, so out"], "four", "five", "end"]);
    const b = await play(server, "b", ["one", "two", ["three", "R was green, so in"], "four", "end"]);
    await play(server, "c", ["one", "end"]);
    const page = await open(server, { view: `compare/${a}/${b}` });
    await page.getByRole("heading", { name: "First difference: step 3" }).waitFor();
    await page.getByText("Reset and steps 1 to 2 are equal").waitFor();
    expect(await page.locator(".fdiff").innerText()).toContain("action.thought");
    expect(await page.locator(".cellx--a mark").first().innerText()).toBe("is yellow");
    expect(await page.locator(".cellx--b mark").first().innerText()).toBe("was green");
    await page.locator(".forks li").nth(2).waitFor();
    expect(await page.locator(".forks li").nth(2).innerText()).toContain("as A to step 1");
    expect(await faults(page, "Not connected", true)).toEqual([]);
    await page.keyboard.press("n");
    await expect.poll(() => new URL(page.url()).hash).toBe(`#/compare/${a}/${b}/step/5`);
    await page.keyboard.press("p");
    await page.keyboard.press("d");
    await page.locator(".diff--ab .path", { hasText: "action.thought" }).waitFor();
    await page.keyboard.press("e");
    await page.locator(".prow").first().getByText("Reset equal").waitFor();
    await page.getByRole("button", { name: "Replay B" }).click();
    await page.getByText("Replayed just now: B is reproduced exactly").waitFor();
    await page.getByRole("button", { name: "Replay B" }).click();
    await page.getByRole("button", { name: "Replay B" }).waitFor();
    await page.getByText("Replayed just now: B is reproduced exactly").waitFor();
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "b"]) await page.keyboard.press(key);
    await page.getByRole("heading", { name: "First difference: step 2" }).waitFor();
    const other = await play(server, "d", ["one", "end"], 8);
    const phone = await open(server, { view: `compare/${a}/${other}`, size: PHONE });
    await phone.getByText(/The seeds differ: 7 and 8. Steps are aligned by number only/).waitFor();
    expect(await width(phone)).toBe(PHONE.width);
    await phone.getByText("Tree", { exact: true }).first().click();
    await phone.locator(".forks li").first().waitFor();
    expect(await faults(phone, "Not connected", true)).toEqual([]);
  });
});
