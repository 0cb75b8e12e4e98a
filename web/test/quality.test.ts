import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import echo from "../../envs/echo/server/environment.js";
import wordle from "../../envs/wordle/server/environment.js";
import { faults } from "./axe.js";
import { DESK, PHONE, requireChromium, reset, usePages } from "./pages.js";
import zoo from "./zoo.js";

const chromium = await requireChromium();
const ASSETS = join(import.meta.dirname, "../../openenv/dist/web-assets");
/** Bytes of gzip that a first visit may load; the form library comes with the first form. */
const FIRST_LOAD = 250_000;

describe.skipIf(!chromium.available)("the page", () => {
  const { start, open, expectProblem } = usePages(chromium);

  for (const scheme of ["light", "dark"] as const) {
    for (const [name, size] of [
      ["a desk", DESK],
      ["a phone", PHONE],
    ] as const) {
      test(`has no serious fault for people with disabilities: ${scheme}, ${name}`, async () => {
        for (const environment of [wordle, zoo, echo]) {
          const page = await open(await start(environment), { scheme, size });
          expect(await faults(page)).toEqual([]);
          await reset(page);
          expect(await faults(page)).toEqual([]);
          await page.getByRole("button", { name: "Reset options", exact: true }).click();
          expect(await faults(page)).toEqual([]);
        }
      }, 120_000);
    }
  }

  test("has no serious fault in what can go wrong either: an error, a failed step, the list of keys", async () => {
    const page = await open(await start(zoo), { scheme: "dark" });
    await reset(page);
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    await page.getByText(/fields to correct/).waitFor();
    expect(await faults(page)).toEqual([]);
    await page.getByLabel("Name").fill("fail");
    await page.getByLabel("Color").selectOption({ label: "red" });
    await page.getByRole("button", { name: /^Send ↵/ }).click();
    await page.getByText("The environment failed in this step").waitFor();
    for (const tab of ["Diff", "Raw JSON", "Step"]) {
      await page.getByRole("tab", { name: tab }).click();
      expect(await faults(page)).toEqual([]);
    }
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    expect(await faults(page)).toEqual([]);
    await page.keyboard.press("Escape");
  }, 120_000);

  test("loads no more than it may, and compressed as it was measured", async () => {
    const server = await start(zoo);
    const page = await open(server);
    await page.getByLabel("Name").waitFor();
    const loaded = await page.evaluate(() =>
      performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname),
    );
    const names = loaded.filter((path) => path.startsWith("/web/assets/")).map((path) => path.slice("/web/".length));
    const sizes = await Promise.all(names.map(async (name) => gzipSync(await readFile(join(ASSETS, name))).length));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    // With the form library, which need not count.
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThan(FIRST_LOAD);
    const { headers } = await fetch(`${server.url}/web/${names[0]}`, { headers: { "accept-encoding": "gzip" } });
    expect(headers.get("content-encoding")).toBe("gzip");
  });

  test("holds a content policy without eval and inline scripts, and asks no other host", async () => {
    expectProblem(/Content Security Policy/);
    const server = await start(zoo);
    const page = await open(server);
    await reset(page);
    const policy = (await fetch(`${server.url}/web/`)).headers.get("content-security-policy") ?? "";
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toMatch(/unsafe|\*/);
    const results = await page.evaluate(() => {
      const blocked: string[] = [];
      document.addEventListener("securitypolicyviolation", ({ violatedDirective }) => blocked.push(violatedDirective));
      const script = document.createElement("script");
      script.textContent = "document.title = 'owned'";
      document.body.append(script);
      let evaluated = true;
      // Later: what the debugger runs at once may evaluate.
      setTimeout(() => {
        try {
          // biome-ignore lint/security/noGlobalEval: that it is forbidden is what is tested
          globalThis.eval("1");
        } catch {
          evaluated = false;
        }
      });
      return new Promise<{ blocked: string[]; evaluated: boolean }>((resolve) =>
        setTimeout(() => resolve({ blocked, evaluated }), 50),
      );
    });
    expect(results.evaluated).toBe(false);
    expect(results.blocked).toContain("script-src-elem");
    expect(await page.title()).toBe("Play · zoo_env");
  }, 60_000);

  test("has no address of another host in what is shipped, but for names and notices", async () => {
    const files = (await readdir(join(ASSETS, "assets"))).filter((name) => /\.(js|css)$/.test(name));
    for (const file of files) {
      const text = await readFile(join(ASSETS, "assets", file), "utf8");
      expect(text).not.toMatch(/fetch\("https?:|import\("https?:|url\("?https?:|@import/);
    }
  });
});
