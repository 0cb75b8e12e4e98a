import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFigures } from "../bench/report/figures.js";
import { drawFigure } from "../bench/report/plot.js";
import { readResults } from "../bench/report/read-results.js";
import { renderScalingReport } from "../bench/report/render-report.js";
import { exit, print } from "./output.js";

/** Writes REPORT.md and figures/ from the results of one or several runs. */
export async function writeReport(
  dirs: readonly string[],
  options: { outputDir: string; figures: boolean },
): Promise<void> {
  const { outputDir } = options;
  const results = readResults(dirs);
  const figures = options.figures ? createFigures(results.bursts) : [];
  const drawn = await Promise.all(figures.map(async (figure) => ({ ...figure, ...(await drawFigure(figure)) })));
  mkdirSync(join(outputDir, "figures"), { recursive: true });
  for (const { name, svg, png } of drawn) {
    writeFileSync(join(outputDir, "figures", `${name}.svg`), svg);
    writeFileSync(join(outputDir, "figures", `${name}.png`), png);
  }
  const titles = new Map(figures.map(({ name, title }) => [name, title]));
  writeFileSync(join(outputDir, "REPORT.md"), renderScalingReport(results, titles));
  print(`${join(outputDir, "REPORT.md")}, ${drawn.length} figures as SVG and PNG`);
  exit(0);
}
