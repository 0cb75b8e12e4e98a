import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createProject,
  type Project,
  type Running,
  startCommand,
} from "../../../test-support/commands/command-line.js";
import { requireChromium, reset, steps, usePages } from "./pages.js";

const chromium = await requireChromium();

const ENVIRONMENT = `import { defineContract, defineEnvironment } from "openenv-ts";
import * as z from "zod";
const contract = defineContract({
  name: "moods_env",
  action: z.object({ mood: z.enum(["good", "throw", "invalid", "yield", "wait", "exit"]) }),
  observation: z.object({ mood: z.string() }),
});
export default defineEnvironment(contract, () => ({
  reset: () => ({ observation: { mood: "new" } }),
  async step({ mood }, { signal }) {
    if (mood === "throw") throw new Error("unlucky");
    if (mood === "invalid") return { observation: { mood: 1 as never } };
    if (mood === "exit") process.exit(3);
    if (mood === "wait") await new Promise(() => {});
    // Succeeds after the call was abandoned.
    if (mood === "yield") await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return { observation: { mood } };
  },
}));
`;

interface Case {
  title: string;
  /** Sent as JSON after two steps that succeed. */
  mood: string;
  /** The message on the page. */
  message: string | RegExp;
  /** The count after three steps, with this one in the middle. */
  counted: number;
  /** Whether the session ends with it, so that no third step is sent. */
  ends?: boolean;
  /** Uses a server with a time limit of three seconds. */
  isLimited?: boolean;
  giveUp?: boolean;
}

const CASES: Case[] = [
  { title: "a success", mood: "good", message: "Step 2", counted: 3 },
  { title: "an action that does not fit", mood: "none", message: "The action is not valid", counted: 2 },
  {
    title: "an exception of the author",
    mood: "throw",
    message: "The environment failed during this step",
    counted: 2,
  },
  { title: "an invalid result", mood: "invalid", message: "The environment failed during this step", counted: 3 },
  {
    title: "a timeout of a step that yields",
    mood: "yield",
    message: "took too long",
    counted: 1,
    isLimited: true,
    ends: true,
  },
  {
    title: "a timeout of a step that hangs",
    mood: "wait",
    message: "took too long",
    counted: 1,
    isLimited: true,
    ends: true,
  },
  { title: "a step that was canceled", mood: "wait", message: "was canceled", counted: 1, ends: true, giveUp: true },
  { title: "a host that was lost", mood: "exit", message: "process ended", counted: 1, ends: true },
];

describe.skipIf(!chromium.available)("the page counts the steps that the server counts", () => {
  const { open } = usePages(chromium);

  let project: Project;
  let unlimited: Running;
  let limited: Running;
  beforeAll(async () => {
    project = await createProject({ "environment.ts": ENVIRONMENT });
    const args = ["serve", "--port", "0", "--isolation", "process"];
    // The session of a page that was closed waits this long for its return.
    const options = { cwd: project.dir, env: { RESUME_GUARANTEE: "1" } };
    unlimited = startCommand(args, options);
    limited = startCommand([...args, "--step-timeout", "3"], options);
  });
  afterAll(async () => {
    for (const part of [limited, unlimited, project]) await part?.[Symbol.asyncDispose]();
  });

  test.for(CASES)(
    "with $title",
    async ({ mood, message, counted, ends = false, isLimited = false, giveUp = false }) => {
      const running = isLimited ? limited : unlimited;
      const [, url = ""] = await running.printed(/at (http:\S+)/);
      const earlier = running.stderr.length;
      const page = await open({ url });
      await reset(page);
      await page.locator("label", { hasText: /^JSON$/ }).click();
      await send(page, "good");
      await send(page, mood, !giveUp);
      if (giveUp) await page.getByRole("button", { name: "Cancel and open a new session" }).click();
      await page.locator(".pane--step", { hasText: message }).waitFor();
      if (!ends) await send(page, "good");
      const shown = page.locator(".facts div", { hasText: "Steps" }).locator("strong");
      await expect.poll(() => shown.innerText()).toBe(String(counted));
      if (!ends) await page.getByRole("heading", { name: `Step ${counted}` }).waitFor();
      await page.close();
      // A page that has lost its session opens a new one, which has no steps.
      const logged = () =>
        /"steps":([1-9]\d*),"ms":\d+,"reason":.*"session ended"/.exec(running.stderr.slice(earlier))?.[1];
      await expect.poll(logged, { timeout: 60_000 }).toBe(String(counted));
    },
  );
});

/** Sends an action as JSON, and waits for its row in the timeline. */
async function send(page: Page, mood: string, isAnswered = true): Promise<void> {
  const before = await steps(page).count();
  await page.locator("form#action textarea").fill(JSON.stringify({ mood }));
  await page.locator("form#action button[type=submit]:not([aria-disabled])").click();
  if (isAnswered) await steps(page).nth(before).waitFor();
}
