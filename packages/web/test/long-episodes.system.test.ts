import { describe, expect, test } from "vitest";
import { defineCounter } from "../../../test-support/environments/counter.js";
import { requireChromium, reset, steps, usePages } from "./pages.js";

const chromium = await requireChromium();
const STEPS = 160;

describe.skipIf(!chromium.available)("a long episode", () => {
  const { start, open } = usePages(chromium);

  test("costs a new step no look at styles for each row, and few rows are made", async () => {
    const server = await start(defineCounter().environment);
    const page = await open(server, { view: "about" });
    await page.addInitScript(() => {
      const counts = { styles: 0 };
      Object.assign(globalThis, { counts });
      for (const name of ["matchMedia", "getComputedStyle"] as const) {
        const real = globalThis[name].bind(globalThis) as (...given: unknown[]) => unknown;
        Object.assign(globalThis, {
          [name]: (...given: unknown[]) => {
            counts.styles++;
            return real(...given);
          },
        });
      }
    });
    await page.reload();
    await page.getByRole("link", { name: "Play" }).click();
    await reset(page);
    await page.getByLabel("Amount").fill("0");
    /** Sends so many times, and tells how often styles were asked for. */
    const send = (times: number): Promise<number> =>
      page.evaluate(async (left) => {
        const { counts } = globalThis as unknown as { counts: { styles: number } };
        const before = counts.styles;
        const form = document.getElementById("action") as HTMLFormElement;
        const last = () => document.querySelector("#announcer")?.textContent;
        for (; left > 0; left--) {
          const told = last();
          form.requestSubmit();
          while (last() === told) await new Promise((resolve) => setTimeout(resolve));
        }
        return counts.styles - before;
      }, times);
    const early = (await send(20)) / 20;
    await send(STEPS - 40);
    const late = (await send(20)) / 20;
    await steps(page).last().getByText(String(STEPS), { exact: true }).waitFor();
    expect(early).toBeLessThan(20);
    expect(late).toBeLessThanOrEqual(early + 2);
    expect(await page.locator(".tl__row").count()).toBeLessThan(60);
  });
});
