import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "../harness/servers.mjs";

const STEPS = 10_000;
const MOVES = 30;
/** Steps of a live session are played one by one, which takes a while. */
const PLAYED = 5_000;

export const title = "the page in Chromium";

export async function run(bench) {
  const executablePath = process.env.CHROMIUM;
  if (!executablePath) {
    bench.missing.push("The page was not measured: CHROMIUM is not set to a browser.");
    return [];
  }
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const server = await startServer("ours", "echo");
  try {
    const rounds = { ours: bench.quick ? 2 : 7 };
    const visit = (work) => () => withPage(browser, server.url, work);
    const appended = await withPage(browser, server.url, measureAppend);
    return [
      {
        id: "page-ready",
        measure: "the page: from navigation until an action can be sent",
        unit: "ms",
        samples: await bench.interleave(rounds, visit(measureStart)),
        targets: [{ limit: "at most", value: 1000 }],
      },
      {
        id: "page-move",
        measure: `the page: from a key press until another of ${STEPS.toLocaleString("en")} steps is drawn`,
        unit: "ms",
        samples: await bench.interleave(rounds, visit(measureMove)),
        targets: [{ limit: "at most", value: 50 }],
      },
      {
        id: "page-append",
        measure: `the page: from sending until the step is drawn below ${PLAYED.toLocaleString("en")} others`,
        unit: "ms",
        // One visit, the median of its last steps.
        samples: { ours: [appended.wall] },
        targets: [],
      },
      {
        id: "page-append-cpu",
        measure: `the page: CPU time of its main thread for a step below ${PLAYED.toLocaleString("en")} others`,
        unit: "ms",
        samples: { ours: [appended.cpu] },
        targets: [{ limit: "at most", value: 16 }],
      },
    ];
  } finally {
    await browser.close();
    await server.close();
  }
}

/** Each visitor is new, with an empty cache. */
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

/** The page's clock starts at navigation. */
async function measureStart(page) {
  const isReady = () => {
    const isConnected = document.querySelector(".episode .btn:not([aria-disabled])");
    return isConnected && document.querySelector("form#action :is(input, textarea)") ? performance.now() : false;
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
  await page.evaluate(defineDrawn);
  return median(await page.evaluate(move, { steps: STEPS, moves: MOVES }));
}

/** A live step switches from an imported file to the session, so the earlier steps are played live, too. */
async function measureAppend(page) {
  await page.getByText("Connected", { exact: true }).waitFor();
  await page
    .getByRole("button", { name: /^Reset/ })
    .first()
    .click();
  await page.getByRole("heading", { name: "Reset", exact: true }).waitFor();
  await page.locator("form#action :is(input, textarea)").first().fill("hello");
  await page.evaluate(defineDrawn);
  await page.evaluate(fill, PLAYED);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await taskSeconds(devtools);
  const wall = median(await page.evaluate(append, { from: PLAYED + 1, count: MOVES }));
  return { wall, cpu: (((await taskSeconds(devtools)) - before) / MOVES) * 1000 };
}

/** CPU time of the main thread: scripts, styles, layout and painting. */
async function taskSeconds(devtools) {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration").value;
}

function median(times) {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
}

/**
 * Runs in the page: defines `untilDrawn(index)`, which resolves with the time of the first frame with this step
 * selected, visible in the timeline, and open next to it. Number 0 is the reset.
 */
function defineDrawn() {
  const isThere = (index) => {
    const row = document.getElementById(`step-${index}`);
    const heading = document.getElementById("step-h")?.textContent;
    if (row?.getAttribute("aria-selected") !== "true" || heading !== `Step ${index.toLocaleString("en")}`) return false;
    const { top, bottom } = row.getBoundingClientRect();
    const list = row.closest(".tl-scroll").getBoundingClientRect();
    return top >= list.top - 1 && bottom <= list.bottom + 1;
  };
  globalThis.untilDrawn = async (index) => {
    const deadline = performance.now() + 30_000;
    for (;;) {
      // The task after a frame's callbacks runs when the frame is drawn.
      const isNext = await new Promise((resolve) =>
        requestAnimationFrame(() => {
          const found = isThere(index);
          setTimeout(() => resolve(found));
        }),
      );
      if (isNext) return performance.now();
      if (performance.now() > deadline) throw new Error(`step ${index} was not drawn in 30 s`);
    }
  };
}

/** Runs in the page: goes to the last step, then back one by one; returns the milliseconds until each is drawn. */
async function move({ steps, moves }) {
  const press = async (key, index) => {
    const started = performance.now();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    return (await globalThis.untilDrawn(index)) - started;
  };
  document.activeElement?.blur();
  await press("G", steps);
  const times = [];
  for (let at = 1; at <= moves; at++) times.push(await press("k", steps - at));
  return times;
}

/** Runs in the page: plays the earlier steps, without waiting for frames. */
async function fill(steps) {
  const listed = () => Number(document.querySelector(".tl-scroll [role=option]")?.getAttribute("aria-setsize"));
  for (let step = 1; step <= steps; step++) {
    document.querySelector("form#action").requestSubmit();
    while (listed() <= step) await new Promise((resolve) => setTimeout(resolve));
  }
}

/** Runs in the page: submits the form repeatedly; returns the milliseconds until each step is drawn. */
async function append({ from, count }) {
  const times = [];
  for (let index = from; index < from + count; index++) {
    const started = performance.now();
    document.querySelector("form#action").requestSubmit();
    times.push((await globalThis.untilDrawn(index)) - started);
  }
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
