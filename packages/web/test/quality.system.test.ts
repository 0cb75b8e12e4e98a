import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import echo from "../../../envs/echo/server/environment.js";
import wordle from "../../../envs/wordle/server/environment.js";
import { faults } from "./axe.js";
import { DESK, exported, imported, PHONE, requireChromium, reset, steps, usePages, width } from "./pages.js";
import zoo from "./zoo.js";

const chromium = await requireChromium();
const ASSETS = join(import.meta.dirname, "../dist");
/** Bytes of gzip that a first visit may load; the form library comes with the first form. */
const FIRST_LOAD = 250_000;

describe.skipIf(!chromium.available)("the page", () => {
  const { start, open, expectProblem } = usePages(chromium);

  test.each([
    ["a desk", DESK],
    ["a phone", PHONE],
  ] as const)(
    "has no serious fault for people with disabilities: %s",
    async (_, size) => {
      for (const environment of [wordle, zoo, echo]) {
        const page = await open(await start(environment), { size });
        expect(await faults(page)).toEqual([]);
        await reset(page);
        expect(await faults(page)).toEqual([]);
        await page.getByRole("button", { name: "Reset options", exact: true }).click();
        expect(await faults(page)).toEqual([]);
      }
    },
    240_000,
  );

  test("has no serious fault in what can go wrong either: an error, a failed step, the list of keys", async () => {
    const page = await open(await start(zoo));
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
  }, 240_000);

  test("has no serious fault where there is no place, with and without a queue", async () => {
    for (const [queueSize, words, status] of [
      // Whether the refusal comes with the handshake or right after it decides how the page calls that.
      [0, "The only place is taken.", /^(No connection|Reconnecting)$/],
      [1, "You are number 1 in the queue.", "In the queue"],
    ] as const) {
      const server = await start(echo, { maxConcurrentEnvs: 1, queueSize });
      const first = await open(server);
      await first.getByText("Connected", { exact: true }).waitFor();
      for (const size of [DESK, PHONE]) {
        const page = await open(server, { size });
        await page.getByText(words).waitFor();
        expect(await faults(page, status)).toEqual([]);
        expect(await width(page)).toBeLessThanOrEqual(size.width);
        await page.close();
      }
    }
  }, 240_000);

  test("has no serious fault when the server is gone, in a file and in its replay", async () => {
    for (const size of [DESK, PHONE]) {
      const server = await start(wordle);
      const page = await open(server, { size });
      await reset(page);
      await page.getByLabel("Message").fill("[crane]");
      await page.getByRole("button", { name: /^Send/ }).click();
      await page.getByRole("heading", { name: "Step 1" }).waitFor();
      const recorded = await exported(page);
      await imported(page, recorded);
      await page.getByText("Read-only: 1 episode, 1 step.").waitFor();
      expect(await faults(page)).toEqual([]);
      if (size === PHONE) await page.locator("label", { hasText: /^Timeline$/ }).tap();
      await page.getByRole("button", { name: "Replay" }).click();
      await page.getByText(/is the first that differs|Every step is the same/).waitFor();
      expect(await faults(page)).toEqual([]);
      await page.getByRole("button", { name: "Back to the session" }).click();
      await server.close();
      await page.getByText("Connection lost.").waitFor();
      expect(await faults(page, "Reconnecting")).toEqual([]);
      expect(await width(page)).toBeLessThanOrEqual(size.width);
    }
  }, 240_000);

  test("uses a wide screen, and no line of text grows as wide", async () => {
    const size = { width: 1920, height: 1080 };
    const page = await open(await start(wordle), { size });
    await reset(page);
    expect(await width(page)).toBeLessThanOrEqual(size.width);
    const [act, step, timeline] = await page
      .locator(".pane--act, .pane--step, .pane--timeline")
      .evaluateAll((panes) => panes.map((pane) => pane.getBoundingClientRect()));
    expect(act?.right).toBeLessThanOrEqual(step?.left ?? 0);
    expect(step?.right).toBeLessThanOrEqual(timeline?.left ?? 0);
    expect(timeline?.right).toBe(size.width);
    const lines = await page.locator(".block > *").evaluateAll((all) => all.map(({ clientWidth }) => clientWidth));
    expect(Math.max(...lines)).toBeLessThanOrEqual(848);
  });

  test("moves nothing while steps come in", async () => {
    const page = await open(await start(wordle));
    await reset(page);
    await page.getByLabel("Message").waitFor();
    await page.evaluate(() => {
      const page = globalThis as unknown as { moved: number };
      page.moved = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[]) {
          if (!entry.hadRecentInput) page.moved += entry.value;
        }
      }).observe({ type: "layout-shift", buffered: false });
    });
    // Sent by a script, so that no movement is excused by what the visitor did.
    for (let step = 1; step <= 4; step++) {
      await page.getByLabel("Message").evaluate(
        (input, word) => {
          const set = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value")?.set;
          set?.call(input, word);
          input.dispatchEvent(new Event("input", { bubbles: true }));
        },
        `[${["crane", "slate", "pound", "might"][step - 1]}]`,
      );
      await page.evaluate(() => document.querySelector<HTMLFormElement>("form#action")?.requestSubmit());
      await steps(page).nth(step).waitFor();
    }
    await page.waitForTimeout(300);
    // What the browser itself calls good is a tenth.
    expect(await page.evaluate(() => (globalThis as unknown as { moved: number }).moved)).toBeLessThan(0.05);
  });

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
