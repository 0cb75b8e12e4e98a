import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { partsLoaded } from "./pages.js";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
/** The rules about colors, which are all that a theme changes. */
const COLORS = ["color-contrast", "link-in-text-block"];

/**
 * The serious and critical violations that axe finds, or `every` violation: by all rules in the light theme, and by the
 * color rules in the dark one.
 */
export async function faults(page: Page, status: string | RegExp = "Connected", every = false): Promise<string[]> {
  await page.getByText(status, { exact: true }).waitFor();
  await page.waitForTimeout(300);
  await partsLoaded(page);
  // Injected by the debugger's protocol, to which the content policy does not apply.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(await readFile(AXE, "utf8"));
  return [...(await faultsIn(page, "dark", { every, rules: COLORS })), ...(await faultsIn(page, "light", { every }))];
}

async function faultsIn(page: Page, colorScheme: "light" | "dark", options: { every: boolean; rules?: string[] }) {
  await page.emulateMedia({ colorScheme });
  return page.evaluate(
    async ({ every, rules, colorScheme }) => {
      // Colors in transition may have any contrast.
      for (const animation of document.getAnimations()) {
        if (animation.effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY) animation.cancel();
        else animation.finish();
      }
      const { axe } = globalThis as unknown as { axe: Axe };
      const only = rules && { runOnly: { type: "rule" as const, values: rules } };
      const { violations } = await axe.run({ resultTypes: ["violations"], ...only });
      return violations
        .filter(({ impact }) => every || impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${colorScheme}: ${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`);
    },
    { ...options, colorScheme },
  );
}

interface Axe {
  /** Only these results in full, which is a third faster. */
  run(options: { resultTypes: ["violations"]; runOnly?: { type: "rule"; values: string[] } }): Promise<{
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  }>;
}
