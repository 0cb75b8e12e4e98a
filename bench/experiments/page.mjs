import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "../servers.mjs";

const STEPS = 10_000;
const MOVES = 30;

export const title = "the page in Chromium";

export async function run(bench) {
  const executablePath = process.env.CHROMIUM;
  if (!executablePath) {
    bench.missing.push("The page was not measured: CHROMIUM names no browser.");
    return [];
  }
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const server = await startServer("ours", "echo");
  try {
    const rounds = { ours: bench.quick ? 2 : 7 };
    const visit = (work) => () => withPage(browser, server.url, work);
    return [
      {
        id: "page-ready",
        measure: "the page: from its address until an action can be sent",
        unit: "ms",
        samples: await bench.interleave(rounds, visit(measureStart)),
        targets: [{ limit: "at most", value: 1000 }],
      },
      {
        id: "page-move",
        measure: `the page: from a key until another of ${STEPS.toLocaleString("en")} steps is drawn`,
        unit: "ms",
        samples: await bench.interleave(rounds, visit(measureMove)),
        targets: [{ limit: "at most", value: 50 }],
      },
    ];
  } finally {
    await browser.close();
    await server.close();
  }
}

/** Each visitor is a new one, with nothing in the cache. */
async function withPage(browser, url, work) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const page = await context.newPage();
    await page.goto(`${url}/web/`, { waitUntil: "commit" });
    return await work(page);
  } finally {
    await context.close();
  }
}

/** The clock of the page begins with its navigation. */
async function measureStart(page) {
  const isReady = () => {
    const isConnected = document.querySelector(".episode .btn:not([aria-disabled])");
    return isConnected && document.querySelector("form#action input") ? performance.now() : false;
  };
  return (await page.waitForFunction(isReady, undefined, { polling: "raf" })).jsonValue();
}

async function measureMove(page) {
  const file = join(tmpdir(), `openenv-bench-steps-${process.pid}.jsonl`);
  await writeFile(file, renderEpisode());
  try {
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Import" }).click();
    await (await chooser).setFiles(file);
    await page.getByText(`Read-only: 1 episode, ${STEPS.toLocaleString("en")} steps.`).waitFor();
  } finally {
    await rm(file, { force: true });
  }
  const times = await page.evaluate(move, MOVES);
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
}

/** Runs in the page: goes to the last step, then back one by one; milliseconds until each is drawn. */
async function move(moves) {
  const press = async (key) => {
    const started = performance.now();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - started;
  };
  document.activeElement?.blur();
  await press("G");
  const times = [];
  for (let at = 0; at < moves; at++) times.push(await press("k"));
  return times;
}

function renderEpisode() {
  const answer = { observation: { echoed_message: "hello" }, reward: 1, done: false, ms: 1 };
  const episode = {
    format: "openenv.episode/1",
    episode: 0,
    environment: "echo_env",
    url: "http://localhost:8000",
    started_at: new Date(0).toISOString(),
    reset: {},
    start: answer,
    steps: Array.from({ length: STEPS }, () => ({ action: { message: "hello" }, ...answer })),
    total_reward: STEPS,
    end: "policy",
  };
  return `${JSON.stringify(episode)}\n`;
}
