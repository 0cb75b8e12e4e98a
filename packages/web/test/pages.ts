import type { EnvironmentDefinition } from "openenv-ts";
import { serve } from "openenv-ts/server";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { type Component, requireChromium } from "../../../test-support/requirement.js";

export type Server = Awaited<ReturnType<typeof serve>>;
type ServeOptions = Parameters<typeof serve>[1];

export interface OpenPageOptions {
  /** Width and height of the window, CSS pixels; default a desk. */
  size?: { width: number; height: number };
  scheme?: "light" | "dark";
  /** A touch screen; default only where the window is as narrow as a phone. */
  touch?: boolean;
  /** Behind the `#`. */
  view?: string;
  /** The operator's token, which the address brings. */
  token?: string;
  /** A second visitor of the same test has a context of their own. */
  path?: string;
}

export const DESK = { width: 1440, height: 900 };
export const PHONE = { width: 360, height: 740 };

/** A name that is not of this machine, behind which the browser finds it all the same. */
export const ELSEWHERE = "example.org";

/** A server that is gone is told by the browser too; that is what those tests are about. */
const EXPECTED =
  /ERR_(CONNECTION_(REFUSED|RESET|CLOSED|ABORTED)|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED|INCOMPLETE_CHUNKED_ENCODING)|WebSocket connection to .* failed|status of 503/;

/**
 * Servers and visitors for one test after the other. A test also fails when a page of it met an error, broke its
 * content policy or asked another host for anything.
 */
export function usePages(chromiumFound: Component) {
  // A browser on a machine that does much else.
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
    /** Says that this test provokes such a message. */
    expectProblem: (message: RegExp) => expected.push(message),
    /** A visitor at an address that is not of the page. */
    async visit(url: string): Promise<Page> {
      if (!browser) throw new Error("there is no browser");
      const context = await browser.newContext();
      cleanup.push(() => context.close());
      const page = await context.newPage();
      watch(context, page, new URL(url).origin);
      await page.goto(url);
      return page;
    },
    /** A visitor with cookies and a session of their own, on the page of the server. */
    async open(server: { url: string }, options: OpenPageOptions = {}) {
      const { size = DESK, touch = size.width < 760, scheme = "light", view = "play", path = "", token } = options;
      if (!browser) throw new Error("there is no browser");
      const context = await browser.newContext({
        viewport: size,
        colorScheme: scheme,
        reducedMotion: "reduce",
        acceptDownloads: true,
        ...(touch ? { hasTouch: true, isMobile: true } : {}),
      });
      cleanup.push(() => context.close());
      // Of a machine that does much else.
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

/** Starts an episode, with a seed by the reset options, and waits for it and its state. */
export async function reset(page: Page, seed?: number): Promise<void> {
  const before = await page.locator("#announcer").textContent();
  if (seed === undefined) {
    await page
      .getByRole("button", { name: /^Reset/ })
      .first()
      .click();
  } else {
    // Before that nothing takes Enter.
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

/** Waits for the state that the page asks for after a reset. */
export async function stateRead(page: Page): Promise<void> {
  const said = page.locator(".pane--state .hint", { hasText: /^after step 0$/ });
  await said.first().waitFor({ state: "attached" });
}

/** The rows of the timeline that are on the screen. */
export function steps(page: Page) {
  return page.getByRole("listbox", { name: /^Steps/ }).getByRole("option");
}

/** Exports the timeline: the path of the file. */
export async function exported(page: Page, button = "Export"): Promise<string> {
  const download = page.waitForEvent("download");
  await clickFileButton(page, button);
  return (await download).path();
}

/** Shows the timeline of a file. */
export async function imported(page: Page, file: string): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await clickFileButton(page, "Import");
  await (await chooser).setFiles(file);
}

/** On a small screen they are in a menu. */
async function clickFileButton(page: Page, name: string): Promise<void> {
  await page.getByRole("region", { name: "Episode" }).waitFor();
  const menu = page.getByRole("button", { name: "More: import, export" });
  const button = page.getByRole("button", { name, exact: true });
  if (!(await button.isVisible())) await menu.click();
  await button.click();
}

/** CSS pixels that the page takes, which are more than the window has when something sticks out. */
export function width(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}
