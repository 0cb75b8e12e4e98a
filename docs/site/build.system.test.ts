import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { type Browser, type BrowserContextOptions, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requireChromium } from "../../test-support/requirement.js";

const HERE = import.meta.dirname;
const DIST = join(HERE, "dist");
const REPOSITORY = "https://example.org/project/openenv-ts";
/** A site below a path, as the pages of a repository are. */
const HOMEPAGE = "https://example.org/openenv-ts/";
const BASE = new URL(HOMEPAGE).pathname;
const TYPES: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
const chromiumFound = await requireChromium();

beforeAll(async () => {
  const env = { ...process.env, SITE_REPOSITORY: REPOSITORY, SITE_HOMEPAGE: HOMEPAGE };
  await promisify(execFile)(process.execPath, [join(HERE, "build.mjs")], { env });
}, 400_000);

test("the site has every page of the documentation, as HTML and as Markdown", () => {
  const guide = readdirSync(join(HERE, "../guide"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.replace(/\.md$/, "").replace(/README$/, "index"));
  for (const name of guide) {
    for (const ending of ["html", "md"])
      expect(existsSync(join(DIST, `docs/guide/${name}.${ending}`)), name).toBe(true);
  }
  const index = readFileSync(join(DIST, "llms.txt"), "utf8");
  const linked = [...index.matchAll(/\]\(\/(.*?)\)/g)].map(([, page = ""]) => page);
  expect(linked).toEqual(expect.arrayContaining(["index.md", "docs/guide/create.md", "docs/reference/wire.md"]));
  expect(linked.filter((page) => !existsSync(join(DIST, page)))).toEqual([]);
  const styles = readdirSync(join(DIST, "assets")).filter((name) => name.endsWith(".css"));
  for (const name of styles) expect(readFileSync(join(DIST, "assets", name), "utf8")).not.toMatch(/url\(["']?https?:/);
});

test("each page has the picture, the icon and the links of the project", () => {
  const page = readFileSync(join(DIST, "docs/guide/train/index.html"), "utf8");
  expect(page).toContain(`<meta property="og:image" content="${HOMEPAGE}play.png">`);
  expect(page).toContain(`href="${REPOSITORY}/edit/main/docs/guide/train/README.md"`);
  expect(page).toContain(`href="${REPOSITORY}"`);
  expect(page).toContain(`<link rel="icon" type="image/svg+xml" href="${BASE}icon.svg">`);
  for (const name of ["icon.svg", "icon-dark.svg", "play.png"]) expect(existsSync(join(DIST, name)), name).toBe(true);
});

describe.skipIf(!chromiumFound.available)("in a browser", () => {
  let browser: Browser | undefined;
  let server: Server;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: chromiumFound.path, args: ["--no-sandbox"] });
    server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });
  const open = async (path: string, options: BrowserContextOptions = {}) => {
    if (!browser) throw new Error("there is no browser");
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}${path}`);
    return page;
  };

  test("the sidebar and the next page follow docs/README.md", { timeout: 60_000 }, async () => {
    const page = await open("docs/guide/create");
    const sidebar = page.getByRole("navigation", { name: "Sidebar Navigation" });
    const heads = await sidebar.getByRole("heading").allTextContents();
    expect(heads.slice(0, 4)).toEqual(["Start", "Use an environment", "Operate", "Reference"]);
    const links = await sidebar.getByRole("link").allTextContents();
    expect(links.slice(0, 3)).toEqual([
      "Your first environment",
      "Writing an environment",
      "Schemas of other libraries",
    ]);
    const fold = sidebar.getByRole("button", { name: "Pages below Train: choose a way" });
    // It does nothing before the script of the page has run.
    const press = async () => {
      if ((await fold.getAttribute("aria-expanded")) === "false") await fold.press("Enter");
      return fold.getAttribute("aria-expanded");
    };
    await expect.poll(press).toBe("true");
    await sidebar.getByRole("link", { name: "Train with TRL", exact: true }).click();
    await page.getByRole("heading", { name: "Train with TRL", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Next page Train with TRL's OpenRewardSpec" }).waitFor();
  });

  test("the first page begins with what the project is, its picture and the first environment", async () => {
    const page = await open("");
    const heads = await page.getByRole("heading").allTextContents();
    expect(heads.map((text) => text.trim().replace(/\s*\u200b$/, ""))).toEqual(
      expect.arrayContaining([
        expect.stringContaining("OpenEnv in TypeScript"),
        "Your first environment",
        "Next to the Python server",
      ]),
    );
    const shown = page.getByRole("img", { name: /^Wordle in the page/ });
    expect(await shown.count()).toBe(1);
    expect(await shown.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBeGreaterThan(1000);
  });

  test("an unknown address leads back", async () => {
    const page = await open("docs/guide/nothing");
    await page.getByRole("heading", { name: "This page does not exist" }).waitFor();
    await page.getByRole("main").getByRole("link", { name: "Documentation" }).click();
    await page.getByRole("heading", { name: "Documentation", level: 1 }).waitFor();
  });

  test("no page is wider than a phone, and the API has no endless one", { timeout: 120_000 }, async () => {
    const page = await open("", { viewport: { width: 360, height: 740 }, javaScriptEnabled: false });
    const names = readdirSync(DIST, { recursive: true, encoding: "utf8" }).filter((name) =>
      /(?<!404)\.html$/.test(name),
    );
    const origin = new URL(page.url()).origin;
    const sizes: { name: string; width: number; height: number }[] = [];
    for (const name of names) {
      await page.goto(`${origin}${BASE}${name}`, { waitUntil: "load" });
      const [width, height] = await page.evaluate(
        () => [document.documentElement.scrollWidth, document.documentElement.scrollHeight] as const,
      );
      sizes.push({ name, width, height });
    }
    expect(sizes.filter(({ width }) => width > 360)).toEqual([]);
    const api = sizes.filter(({ name }) => name.startsWith("docs/reference/api/"));
    expect(api.length).toBeGreaterThan(50);
    expect(api.filter(({ height }) => height > 20_000)).toEqual([]);
  });

  test("axe reports no violations in light and dark mode", { timeout: 120_000 }, async () => {
    const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    const found: string[] = [];
    for (const path of ["", "docs/guide/access", "docs/reference/api/openenv-ts/", "docs/reference/settings", "none"]) {
      for (const colorScheme of ["light", "dark"] as const) {
        const page = await open(path, { colorScheme, reducedMotion: "reduce" });
        await page.getByRole("main").waitFor();
        await page.evaluate(axe);
        const violations = await page.evaluate(
          async () => (await (globalThis as unknown as { axe: Axe }).axe.run()).violations,
        );
        found.push(...violations.map(({ id, nodes }) => `${path} ${colorScheme} ${id}: ${nodes[0]?.html}`));
        await page.context().close();
      }
    }
    expect(found).toEqual([]);
  });
});

/** A server of files that finds a page without its ending. */
function answer({ url = "" }: IncomingMessage, response: ServerResponse): void {
  const path = decodeURIComponent(new URL(url, "http://localhost").pathname).slice(BASE.length);
  const found = [path, `${path}.html`, join(path, "index.html")]
    .map((name) => join(DIST, name))
    .find((name) => statSync(name, { throwIfNoEntry: false })?.isFile());
  const file = found ?? join(DIST, "404.html");
  response.writeHead(found ? 200 : 404, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
  response.end(readFileSync(file));
}

interface Axe {
  run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
}
