import type { EnvironmentDefinition } from "openenv-ts";
import { serve } from "openenv-ts/server";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { type Component, requireChromium } from "../../../test-support/requirement.js";

export type Server = Awaited<ReturnType<typeof serve>>;
type ServeOptions = Parameters<typeof serve>[1];

export interface OpenPageOptions {
  /** Width and height of the window in CSS pixels; default: a desktop. */
  size?: { width: number; height: number };
  scheme?: "light" | "dark";
  /** The time zone of the visitor. */
  timezoneId?: string;
  /** Touch screen; default true only for a window as narrow as a phone. */
  touch?: boolean;
  /** The view after the `#`. */
  view?: string;
  /** The operator token, which the URL carries. */
  token?: string;
  /** Gives a second visitor of a test a separate browser context. */
  path?: string;
}

export const DESK = { width: 1440, height: 900 };
export const PHONE = { width: 360, height: 740 };

/** A foreign host name that the browser resolves to this machine. */
export const ELSEWHERE = "example.org";

/** Browsers log an unreachable server, too; some tests cause this on purpose. */
const EXPECTED =
  /ERR_(CONNECTION_(REFUSED|RESET|CLOSED|ABORTED)|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED|INCOMPLETE_CHUNKED_ENCODING)|WebSocket connection to .* failed|status of 503/;

/**
 * Servers and visitors for the tests of a file. A test also fails when one of its pages had an error, violated its
 * content policy or sent a request to another host.
 */
export function usePages(chromiumFound: Component) {
  // Generous, because the machine may be busy.
  vi.setConfig({ testTimeout: 120_000 });
  let browser: Browser | undefined;
  const cleanup: (() => Promise<unknown>)[] = [];
  const problems: string[] = [];
  const expected: RegExp[] = [];
  beforeAll(async () => {
    if (!chromiumFound.available) return;
    const args = ["--no-sandbox", `--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`];
    browser = await chromium.launch({ executablePath: chromiumFound.path, args });
  });
  afterEach(async () => {
    for (const end of cleanup.splice(0).reverse()) await end();
    const known = expected.splice(0);
    expect(problems.splice(0).filter((problem) => !known.some((one) => one.test(problem)))).toEqual([]);
  });
  afterAll(() => browser?.close());

  const watch = (context: BrowserContext, page: Page, origin: string): void => {
    page.on("pageerror", (error) => problems.push(`error: ${error.stack ?? error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error" && !EXPECTED.test(message.text())) problems.push(`console: ${message.text()}`);
    });
    context.on("request", (request) => {
      const url = new URL(request.url());
      if (/^(https?|wss?):$/.test(url.protocol) && url.origin !== origin) problems.push(`asked ${url.href}`);
    });
  };

  return {
    async start(environment: unknown, options: ServeOptions = {}): Promise<Server> {
      const server = await serve(environment as EnvironmentDefinition, {
        port: 0,
        logLevel: "silent",
        graceMs: 200,
        ...options,
      });
      cleanup.push(() => server.close());
      return server;
    },
    /** Declares a console message that the test provokes. */
    expectProblem: (message: RegExp) => expected.push(message),
    /** A visitor at a URL other than the page. */
    async visit(url: string): Promise<Page> {
      if (!browser) throw new Error("there is no browser");
      const context = await browser.newContext();
      cleanup.push(() => context.close());
      const page = await context.newPage();
      watch(context, page, new URL(url).origin);
      await page.goto(url);
      return page;
    },
    /** A visitor with separate cookies and a separate session, on the page of the server. */
    async open(server: { url: string }, options: OpenPageOptions = {}) {
      const {
        size = DESK,
        touch = size.width < 760,
        scheme = "light",
        view = "play",
        path = "",
        token,
        timezoneId,
      } = options;
      if (!browser) throw new Error("there is no browser");
      const context = await browser.newContext({
        viewport: size,
        colorScheme: scheme,
        reducedMotion: "reduce",
        acceptDownloads: true,
        ...(timezoneId && { timezoneId }),
        ...(touch ? { hasTouch: true, isMobile: true } : {}),
      });
      cleanup.push(() => context.close());
      // Generous, because the machine may be busy.
      context.setDefaultTimeout(25_000);
      const page = await context.newPage();
      watch(context, page, new URL(server.url).origin);
      if (token !== undefined) await page.goto(`${server.url}${path}/web/#token=${encodeURIComponent(token)}`);
      await page.goto(`${server.url}${path}/web/#/${view}`);
      return page;
    },
  };
}

export { requireChromium };

/** Waits until the parts that are loaded when they are first shown are there, such as Markdown. */
export async function partsLoaded(page: Page): Promise<void> {
  await page.locator(".loading:visible").first().waitFor({ state: "detached" });
}

/** Starts an episode, with a seed by the reset options, and waits for it and its state. */
export async function reset(page: Page, seed?: number): Promise<void> {
  const before = await page.locator("#announcer").textContent();
  if (seed === undefined) {
    await page
      .getByRole("button", { name: /^Reset/ })
      .first()
      .click();
  } else {
    // Before that, Enter has no effect.
    await page.getByText("Connected", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Reset options", exact: true }).click();
    await page.getByLabel("Seed").fill(String(seed));
    await page.getByLabel("Seed").press("Enter");
  }
  await page
    // An earlier episode may still be announced.
    .locator("#announcer", { hasText: /^Episode \d+ started$/, ...(before ? { hasNotText: before } : {}) })
    .waitFor({ state: "attached" });
  await stateRead(page);
}

/** Waits for the state that the page requests after a reset, or after a step. */
export async function stateRead(page: Page, step = 0): Promise<void> {
  const said = page.locator(".pane--state .hint", { hasText: new RegExp(`^after step ${step}$`) });
  await said.first().waitFor({ state: "attached" });
}

/** The visible rows of the timeline. */
export function steps(page: Page) {
  return page.getByRole("listbox", { name: /^Steps/ }).getByRole("option");
}

/** Exports the timeline and returns the path of the file. */
export async function exported(page: Page, button = "Export"): Promise<string> {
  const download = page.waitForEvent("download");
  await clickFileButton(page, button);
  return (await download).path();
}

/** Imports the timeline of a file. */
export async function imported(page: Page, file: string): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await clickFileButton(page, "Import");
  await (await chooser).setFiles(file);
}

/** On a small screen the buttons are in a menu. */
async function clickFileButton(page: Page, name: string): Promise<void> {
  await page.getByRole("region", { name: "Episode" }).waitFor();
  const menu = page.getByRole("button", { name: "More: import, export" });
  const button = page.getByRole("button", { name, exact: true });
  if (!(await button.isVisible())) await menu.click();
  await button.click();
}

/** Width of the page in CSS pixels, which exceeds the window when something overflows. */
export function width(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}
