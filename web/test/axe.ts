import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What axe finds serious or critical, or `every` violation, once the page stands so with its server. */
export async function faults(page: Page, status: string | RegExp = "Connected", every = false): Promise<string[]> {
  await page.getByText(status, { exact: true }).waitFor();
  await page.waitForTimeout(300);
  await page.locator(".loading:visible").first().waitFor({ state: "detached" });
  // Colours on their way from one to the other have any contrast.
  await page.evaluate(() => {
    for (const animation of document.getAnimations()) {
      if (animation.effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY) animation.cancel();
      else animation.finish();
    }
  });
  // Put in by the debugger's protocol, which the content policy does not bind.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(await readFile(AXE, "utf8"));
  return page.evaluate(async (every) => {
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => every || impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`);
  }, every);
}

/** The same in the light and the dark theme. */
export async function faultsInBothThemes(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const fault of await faults(page)) found.push(`${colorScheme}: ${fault}`);
  }
  return found;
}

interface Axe {
  /** With only these results in full, which is a third faster. */
  run(options: { resultTypes: ["violations"] }): Promise<{
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  }>;
}
