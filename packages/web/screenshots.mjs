/**
 * Draws docs/images: each page of the web interface, light and dark, of the built package.
 *
 *     CHROMIUM=chromium node packages/web/screenshots.mjs
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../scripts/root.mjs";
import { setup } from "../../scripts/setup.mjs";

const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const OPERATOR_TOKEN = "operator of the pictures";
const IMAGES = join(ROOT, "docs/images");

await setup();
const { chromium } = await import("playwright-core");
const { connect } = await import("openenv-ts/client");
const { serve } = await import("openenv-ts/server");
mkdirSync(IMAGES, { recursive: true });
const store = mkdtempSync(join(tmpdir(), "openenv-pictures-"));
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "chromium",
  args: ["--no-sandbox", "--font-render-hinting=none"],
});
const wordle = await start("envs/wordle/dist/server/environment.js", {
  maxConcurrentEnvs: 32,
  readmePath: join(ROOT, "envs/wordle/README.md"),
});
const recorded = await start("envs/wordle/dist/server/environment.js", { store });
const echo = await start("envs/echo/dist/server/environment.js");
/** Stops the players of the Server view. */
const over = new AbortController();
try {
  for (const scheme of ["light", "dark"]) {
    await shoot(wordle, `play-${scheme}`, { scheme, act: playWordle });
    await shoot(echo, `tools-${scheme}`, { scheme, act: callTools });
    await shoot(wordle, `about-${scheme}`, { scheme, view: "about" });
  }
  const [worst, best] = await recordGroups(recorded);
  await shoot(recorded, "rollouts-light", { scheme: "light", view: "rollouts?by=group" });
  await shoot(recorded, "compare-dark", { scheme: "dark", view: `compare/${worst}/${best}` });
  await shoot(wordle, "play-phone", { scheme: "light", size: PHONE, act: playWordle });
  const players = Array.from({ length: 17 }, (_, at) => keepPlaying(wordle, 30 + at * 7));
  for (const scheme of ["light", "dark"]) await shoot(wordle, `server-${scheme}`, { scheme, view: "server" });
  over.abort();
  await Promise.all(players);
} finally {
  over.abort();
  await browser.close();
  await wordle.close();
  await recorded.close();
  await echo.close();
  rmSync(store, { recursive: true, force: true });
}

async function start(file, options = {}) {
  const { default: environment } = await import(join(ROOT, file));
  return serve(environment, { port: 0, logLevel: "silent", graceMs: 200, operatorToken: OPERATOR_TOKEN, ...options });
}

/** Plays groups of which some episodes find the word. Returns the names of two episodes that part, of rewards 0 and 1. */
async function recordGroups({ url }) {
  const words = ["slate", "crony", "point", "might", "jolly", "fuzzy"];
  const env = await connect(url);
  const names = { run: "grpo-wordle-2", policy_step: 40 };
  for (let seed = 1; seed <= 24; seed++) {
    await env.reset({ seed, metadata: { ...names, group: `word ${seed}` } });
    for (const word of words) await env.step({ message: `[${word}]` });
    const secret = /"secret_word":"(\w+)"/.exec(JSON.stringify(await env.state()))?.[1];
    for (let nth = 1; nth < 8; nth++) {
      let { done } = await env.reset({ seed, metadata: { ...names, group: `word ${seed}` } });
      const found = (seed * nth) % 9 < seed % 6 ? 2 + (nth % 3) : words.length;
      for (const [turn, word] of words.entries()) {
        if (!done) ({ done } = await env.step({ message: `[${turn === found ? secret : word}]` }));
      }
    }
  }
  await env.close();
  const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };
  const read = async (query) => (await (await fetch(`${url}/rollouts?${query}`, { headers })).json()).rows;
  while ((await read("q=outcome:done&limit=1000")).length < 24 * 8)
    await new Promise((resolve) => setTimeout(resolve, 200));
  const [{ group }] = await read("by=group&limit=1");
  const rows = await read(`sort=reward&q=${encodeURIComponent(`group:"${group}"`)}`);
  return [rows[0].id, rows.at(-1).id];
}

/** Sends a guess at this interval in milliseconds. */
async function keepPlaying({ url }, everyMs) {
  const env = await connect(url);
  while (!over.signal.aborted) {
    let { done } = await env.reset();
    for (const guess of ["[slate]", "[crony]", "[point]", "[might]", "[jolly]", "[fuzzy]"]) {
      if (done || over.signal.aborted) break;
      ({ done } = await env.step({ message: guess }));
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
  await env.close();
}

async function shoot(server, name, { scheme, view = "play", size = DESK, act }) {
  const phone = size === PHONE ? { isMobile: true, hasTouch: true, deviceScaleFactor: 1 } : {};
  const context = await browser.newContext({ viewport: size, colorScheme: scheme, reducedMotion: "reduce", ...phone });
  const page = await context.newPage();
  await page.goto(`${server.url}/web/#token=${OPERATOR_TOKEN}`);
  // Not every view connects.
  await page.getByText("Connected", { exact: true }).waitFor();
  await page.goto(`${server.url}/web/#/${view}`);
  await act?.(page);
  // The charts of the Server view need some history.
  await page.waitForTimeout(view === "server" ? 30_000 : 600);
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
  await context.close();
}

async function playWordle(page) {
  await play(page, "7", ["[slate]", "[crony]", "[point]"]);
  await play(page, "42", ["[slate]", "[crane]", "[cedar]"]);
}

async function play(page, seed, guesses) {
  await page.getByRole("button", { name: "Reset options", exact: true }).click();
  await page.getByLabel("Seed").fill(seed);
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^Reset/ })
    .click();
  await page.getByRole("heading", { name: "Reset", exact: true }).waitFor();
  for (const [at, guess] of guesses.entries()) {
    await page.getByRole("textbox", { name: "Message" }).fill(guess);
    await page.getByRole("textbox", { name: "Message" }).press("Control+Enter");
    await page.getByRole("heading", { name: `Step ${at + 1}` }).waitFor();
  }
}

async function callTools(page) {
  await page
    .getByRole("button", { name: /^Reset/ })
    .first()
    .click();
  await page.getByRole("heading", { name: "Reset", exact: true }).waitFor();
  for (const [at, [tool, message]] of [
    ["echo_message", "hello"],
    ["echo_with_length", "quick red fox"],
  ].entries()) {
    await page.getByRole("option", { name: new RegExp(`^${tool}`) }).click();
    await page.getByRole("textbox", { name: "Message" }).fill(message);
    await page.getByRole("textbox", { name: "Message" }).press("Control+Enter");
    await page.getByRole("heading", { name: `Step ${at + 1}` }).waitFor();
  }
}
