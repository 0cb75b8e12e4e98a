import { describe, expect, test } from "vitest";
import echo from "../../../envs/echo/server/environment.js";
import wordle from "../../../envs/wordle/server/environment.js";
import { faults } from "./axe.js";
import { DESK, PHONE, requireChromium, usePages, width } from "./pages.js";

const chromium = await requireChromium();
const MAX_BYTES = 400_000;

describe.skipIf(!chromium.available)("the page of the HTTP routes", () => {
  const { start, open } = usePages(chromium);

  test("is small, fits the window, and has no accessibility violations", async () => {
    const server = await start(echo);
    for (const size of [DESK, { width: 768, height: 1024 }, PHONE]) {
      const page = await open(server, { size });
      for (const path of ["/docs", "/redoc"]) {
        await page.goto(server.url + path, { waitUntil: "networkidle" });
        const bytes = await page.evaluate(() =>
          performance
            .getEntries()
            .reduce((sum, entry) => sum + ((entry as Partial<PerformanceResourceTiming>).decodedBodySize ?? 0), 0),
        );
        expect(bytes).toBeGreaterThan(10_000);
        expect(bytes).toBeLessThan(MAX_BYTES);
        await page.locator("details").evaluateAll((all) => {
          for (const one of all) (one as HTMLDetailsElement).open = true;
        });
        expect(await faults(page, "Schemas", true)).toEqual([]);
        expect(await width(page)).toBeLessThanOrEqual(size.width);
        const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
        for (const [colorScheme, color] of [
          ["dark", "rgb(20, 23, 28)"],
          ["light", "rgb(255, 255, 255)"],
        ] as const) {
          await page.emulateMedia({ colorScheme });
          expect(await background()).toBe(color);
        }
      }
      await page.close();
    }
  });

  test("sends requests, with the session of a reset in later ones", async () => {
    const page = await open(await start(wordle));
    const { origin } = new URL(page.url());
    await page.goto(`${origin}/docs`);
    const route = (path: string) => page.locator(`.route[data-path="${path}"]`);
    const send = async (path: string, body?: string): Promise<string> => {
      await route(path).locator("summary").first().click();
      if (body !== undefined) await route(path).getByLabel("Body").fill(body);
      await route(path).getByRole("button", { name: "Send" }).click();
      await route(path).locator(".answer pre").waitFor();
      return route(path).locator(".answer").innerText();
    };
    expect(await send("/reset")).toMatch(/^200 OK[\s\S]*"observation"/);
    expect(await send("/step", '{ "action": { "message": "[crane]" } }')).toMatch(/^200 OK[\s\S]*crane/);
    expect(await send("/state")).toMatch(/"step_count": 1/);
    expect(await route("/step").getByLabel("openenv-session", { exact: true }).inputValue()).not.toBe("");
    const metadata = route("/metadata");
    await metadata.locator("summary").first().click();
    await metadata.getByRole("button", { name: "Send" }).click();
    await metadata.locator(".answer").getByText("wordle_env").waitFor();
  });
});
