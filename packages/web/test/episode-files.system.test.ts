import { readFile } from "node:fs/promises";
import { parseEpisode } from "openenv-ts/protocol";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import wordle from "../../../envs/wordle/server/environment.js";
import { callCommand, createProject } from "../../../test-support/commands/command-line.js";
import { openEpisodeFile } from "../../cli/src/collect/episode-file.js";
import { exported, imported, requireChromium, steps, usePages } from "./pages.js";

const chromium = await requireChromium();

describe.skipIf(!chromium.available)("a file of episodes", () => {
  const { start, open } = usePages(chromium);

  test("exported by the page is continued by openenv collect, and replayed in the page", async () => {
    const server = await start(wordle);
    const player = await open(server);
    await play(player, 43, ["[crane]", "[slate]"]);
    await play(player, 44, ["[pound]"]);
    const file = await exported(player);
    const mine = await readFile(file, "utf8");
    expect(summaries(file)).toMatchObject([
      { episode: 1, environment: "wordle_env", reset: { seed: 43 }, steps: 2 },
      { episode: 2, environment: "wordle_env", reset: { seed: 44 }, steps: 1 },
    ]);

    await using project = await createProject();
    const args = ["collect", server.url, "-n", "3", "--seed", "42", "--max-steps", "3", "-o", file, "--json"];
    const { code, stdout, stderr } = await callCommand(args, { cwd: project.dir });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { steps: taken, ...summary } = JSON.parse(stdout) as { steps: number };
    expect(summary).toMatchObject({ episodes: 3, failed: 0 });
    const both = await readFile(file, "utf8");
    expect(both.startsWith(mine)).toBe(true);
    expect(parseEpisode(both.slice(mine.length).trimEnd())).toMatchObject({ episode: 0, reset: { seed: 42 } });

    const visitor = await open(server);
    await visitor.getByText("Connected", { exact: true }).waitFor();
    await imported(visitor, file);
    await visitor.getByText(`Read-only: 3 episodes, ${taken} steps.`).waitFor();
    await visitor.getByRole("button", { name: "Replay" }).click();
    await visitor.getByText("Every step is the same as recorded").waitFor();
    const replayed = await exported(visitor, "Export replay");
    expect(summaries(replayed).map(({ episode }) => episode)).toEqual([1, 2, 0]);
  });
});

async function play(page: Page, seed: number, words: readonly string[]): Promise<void> {
  const before = await steps(page).count();
  await page.getByText("Connected", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Reset options", exact: true }).click();
  await page.getByLabel("Seed").fill(String(seed));
  await page.keyboard.press("Enter");
  await steps(page).nth(before).waitFor();
  for (const [at, word] of words.entries()) {
    await page.getByLabel("Message").fill(word);
    await page.getByLabel("Message").press("Enter");
    await steps(page)
      .nth(before + at + 1)
      .waitFor();
  }
}

/** The file as the command line reads it. */
function summaries(file: string) {
  const { found, close } = openEpisodeFile(file);
  close();
  return found;
}
